"""The README's table of exit codes, command by command: each number that it gives is one that is met here."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from translator.cli.main import app, run
from verify.__main__ import main as verify_alone

ROOT = Path(__file__).resolve().parents[3]
GOOD = """\
__global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = a * x[i];
}
"""
TARGET = "cuteport__saxpy"

# Command → exit code → a command line that ends with it, in the folder that `place` makes.
CASES: dict[str, dict[int, list[str]]] = {
    "port": {
        0: ["good.cu", "--no-verify"],
        1: ["refused.cu", "--no-verify"],
        2: ["gone.cu", "--no-verify"],
    },
    "analyze": {0: ["refused.cu"], 1: ["binary.cu"], 2: ["gone.cu"]},
    "verify": {
        0: ["t", "--stages", "static"],
        1: ["bad", "--stages", "static"],
        2: ["badspec", "--stages", "static"],
    },
    "check": {2: ["badspec", "--no-bench"]},
    "bisect": {2: ["badspec", "--good", "4.7.0"]},
    "emulate": {2: ["gone.cu", "--spec", "t"]},
    "spec": {0: ["check", "t"], 2: ["check", "badspec"]},
    "report": {
        0: ["t", "-o", "r.html"],
        1: ["cut", "-o", "r.html"],
        2: ["gone", "-o", "r.html"],
        3: ["t", "-o", "/dev/full"],
    },
    "lift": {2: ["gone"]},
    "tune": {2: ["gone"]},
    "runs": {0: ["list"], 2: ["resume", "gone"]},
    "api": {2: []},
    "mcp": {},
    "corpus": {0: ["list"], 2: ["show", "gone"]},
    "map": {0: ["__syncthreads"], 1: ["__no_such"], 2: []},
    "explain": {0: ["CP7012"], 2: ["CP0000"]},
    "schema": {0: ["port"], 2: ["nonsense"]},
    "doctor": {},
}
# Those that take a compiler, a GPU, the network or minutes: where they are met, as (file, words in it).
_RUNS, _MCP = "tests/loop/test_runs.py", "tests/mcp/test_command.py"
_API = "tests/grounding/test_blocks.py"
ELSEWHERE: dict[tuple[str, int], tuple[str, str]] = {
    ("port", 3): ("tests/unit/cli/test_outcome.py", '([outcome("NOT_RUN", "CP9001")], 3)'),
    ("verify", 3): ("tests/unit/verify/test_verify_verdict.py", '("auto", "gpu", "emulator")] == [0, 3, 0]'),
    ("check", 0): ("tests/unit/check/test_check_folder.py", "report.exit_code == 0"),
    ("check", 1): ("tests/unit/check/test_check_reuse.py", "report.exit_code == 1"),
    ("check", 3): ("tests/unit/check/test_check_reuse.py", "report.exit_code == 3"),
    ("bisect", 0): ("tests/unit/check/test_bisect.py", 'report.exit_code) == ("verdict", [], 0)'),
    ("bisect", 3): ("tests/unit/check/test_bisect.py", '"--good", "4.1.0", "--json"]) == 3'),
    ("emulate", 0): ("tests/unit/verify/test_emulate.py", "assert code == 0, text"),
    ("emulate", 1): ("tests/unit/verify/test_emulate.py", '== (1, "CP7108"), said'),
    ("emulate", 3): ("tests/unit/verify/test_emulate.py", '== (3, "CP7106")'),
    ("corpus", 1): (
        "tests/unit/corpus/test_corpus_check.py",
        'cuteport(["corpus", "check", "--no-run"]) == 1',
    ),
    ("corpus", 3): (
        "tests/unit/corpus/test_corpus_run.py",
        'cuteport(["corpus", "check", "twice", "--device", "gpu"]) == 3',
    ),
    ("lift", 0): (_RUNS, 'faster(command, e, "--json") == 0'),
    ("lift", 1): (_RUNS, 'faster(command, e, "--turns", "1") == 1'),
    ("lift", 3): (_RUNS, 'faster(command, e, "--money", "1") == 3'),
    ("tune", 0): (_RUNS, 'faster(command, e, "--json") == 0'),
    ("tune", 1): (_RUNS, 'faster(command, e, "--turns", "1") == 1'),
    ("tune", 3): (_RUNS, 'faster(command, e, "--money", "1") == 3'),
    ("runs", 1): (_RUNS, 'run(["runs", "compare", str(passed), failed.name]) == 1'),
    ("runs", 3): (_RUNS, 'run(["runs", "replay", folder.name]) == 3'),
    ("api", 0): (_API, 'run(["api", "lane_reduce"]) == 0'),
    ("api", 1): (_API, 'run(["api", "cute.shuffle_sync", "cute.copy"]) == 1'),
    ("api", 3): (_API, 'run(["api", "cute.copy"]) == 3'),
    ("mcp", 0): (_MCP, 'run(["mcp", "--skill", str(tmp_path)]) == 0'),
    ("mcp", 1): (_MCP, 'run(["mcp", "--skill", str(tmp_path)]) == 1'),
    ("mcp", 2): (_MCP, "f\"--root={tmp_path / 'run'}\"]) == 2"),
    ("mcp", 3): (_MCP, '(done.returncode, done.stdout) == (3, "")'),
    ("doctor", 0): ("tests/unit/cli/test_doctor.py", "examined().exit_code) == (True, 0)"),
    ("doctor", 3): ("tests/unit/cli/test_doctor.py", "without_dsl.exit_code) == (False, 3)"),
}


def documented() -> dict[str, set[int]]:
    """Command → the exit codes that the README gives a meaning for it; 0 is of all."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("| command | 1 | 2 | 3 |\n")[2].partition("\n\n")[0].splitlines()[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {name.strip("`"): {0, *(k for k, said in enumerate(cells, 1) if said)} for name, *cells in rows}


def test_the_table_has_every_command_and_only_numbers_that_are_met() -> None:
    commands = {c.name for c in app.registered_commands} | {g.name for g in app.registered_groups}
    table = documented()
    assert set(table) == commands == set(CASES)
    met = {name: set(codes) | {c for n, c in ELSEWHERE if n == name} for name, codes in CASES.items()}
    assert met == table
    for file, words in ELSEWHERE.values():
        assert words in (ROOT / file).read_text(encoding="utf-8"), file


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("good.cu").write_text(GOOD)
    Path("refused.cu").write_text(GOOD.replace("a * x[i]", "*new float"))
    Path("binary.cu").write_bytes(bytes(range(256)))
    for name in ("t", "bad", "badspec", "cut"):
        shutil.copytree(ROOT / "targets" / TARGET, name)
    Path("bad/port.py").write_text("def saxpy(:\n")
    Path("badspec/spec.toml").write_text("schema = 1\nname = 3\n")
    Path("cut/verdict.json").write_text("{")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "code"), [(name, code) for name, codes in CASES.items() for code in codes]
)
def test_the_table_is_true(place: Path, command: str, code: int) -> None:
    assert run([command, *CASES[command][code]]) == code


def test_verify_and_check_agree_about_targets_that_can_not_be_used(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("badspec", "gone"):
        assert run(["verify", name, "--stages", "static"]) == run(["check", name, "--no-bench"]) == 2
    assert run(["check", "badspec", "gone", "--no-bench"]) == 2
    capfd.readouterr()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["verify", "t", "--stages", "static", "--seed", str(2**63)], "does not fit into 64 bits"),
        (["verify", "t", "--stages", "static", "--timeout", "nan"], "it takes seconds, more than 0"),
        (["verify", "t", "--stages", "static", "--timeout", "-1"], "it takes seconds, more than 0"),
        (["verify", "t", "--stages", "static", "--jobs", "0"], "it takes a number from 1"),
        (["check", "t", "--seed", str(-(2**63) - 1)], "does not fit into 64 bits"),
        (["check", "t", "--timeout", "0"], "it takes seconds, more than 0"),
        (["bisect", "t", "--good", "4.7.0", "--seed", str(2**80)], "does not fit into 64 bits"),
        (["emulate", "good.cu", "--spec", "t", "--timeout", "inf"], "it takes seconds, more than 0"),
        (["corpus", "check", "-j", "-3"], "it takes a number from 1"),
    ],
)
def test_numbers_that_can_not_be_meant(
    place: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(arguments) == 2
    assert said in capfd.readouterr().err


def test_the_verifier_alone_says_the_same(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for words in ("--seed 99999999999999999999", "--timeout nan", "--jobs 0"):
        with pytest.raises(SystemExit) as end:
            verify_alone(["t", "--stages", "static", *words.split()])
        assert end.value.code == 2
        assert words.split()[0] in capfd.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    "name", ["spec.toml", "port.py", "original/device.cu", "reference.py", "verdict.json"]
)
def test_a_pipe_in_a_target_is_told_and_not_waited_for(
    place: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    Path("t", name).unlink(missing_ok=True)
    os.mkfifo(f"t/{name}")
    assert run(["verify", "t", "--stages", "static"]) == 2
    said = capfd.readouterr().err
    assert f"t/{name}" in said and ("not a regular file" in said or "no file" in said), said
    assert run(["report", "t", "-o", "r.html"]) == 1
    assert run(["spec", "check", "t"]) == (0 if name in ("reference.py", "verdict.json") else 2)


def test_a_device_is_no_verdict_and_no_kernel(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--replay", "/dev/zero"]) == 2
    assert "not a regular file" in capfd.readouterr().err
    assert run(["emulate", "/dev/zero", "--spec", "t"]) == 2
    assert "not a regular file" in capfd.readouterr().err


def test_what_the_system_refuses_is_no_bug(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError(errno.EROFS, "Read-only file system", "somewhere")

    monkeypatch.setattr("translator.batch.corpus_check.expand_all", refuses)
    assert run(["corpus", "expand", "d"]) == 3
    assert "error: somewhere: Read-only file system" in capfd.readouterr().err
    monkeypatch.setattr("translator.doctor.examine", refuses)
    assert run(["doctor", "--json"]) == 3
    assert json.loads(capfd.readouterr().out)["error"]["kind"] == "environment"


def test_links_that_lead_to_each_other_are_told(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("t/port.py").unlink()
    Path("t/port.py").symlink_to("port.py")
    assert run(["verify", "t", "--stages", "static"]) == 1
    assert run(["report", "t", "-o", "r.html"]) == 1
    assert "CP9503" in capfd.readouterr().err


def test_a_reader_that_leaves_is_no_failure(place: Path) -> None:
    for module, arguments in (("translator.cli.main", ["map", "--markdown"]), ("verify", ["t", "--json"])):
        command = [sys.executable, "-P", "-m", module, *arguments]
        more = ["--stages", "static"] if module == "verify" else []
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [*command, *more],
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
            stdout=write, stderr=subprocess.PIPE, text=True, timeout=120,
        )  # fmt: skip
        os.close(write)
        assert (done.returncode, "Traceback" in done.stderr) == (141, False), done.stderr
