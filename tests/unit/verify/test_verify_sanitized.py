"""The sanitize stage at work: workers under a tool that a program plays, and the worker itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import cuda.bindings
import numpy as np
import pytest
from fake_driver import FakeDriver
from in_process import saxpy_kernel
from saxpy_target import SPEC, write_target

from verify import device_jobs, sanitize_jobs, sanitized
from verify.options import Options
from verify.sanitize import chosen_cases
from verify.sanitized import Checkers, Sanitizing, Subject
from verify.sanitizer import TOOLS, find_sanitizer, version_of
from verify.spec_file import load_spec
from verify.verdict import Status

HERE = Path(__file__).parent

UNSET = """========= Uninitialized __global__ memory read of size 4 bytes
=========     at k+0xf0 in {file}:7
=========     by thread (3,0,0) in block (1,0,0)
=========     Address 0x7f86c8a00200
=========
"""
NAMED = """========= Barrier error detected. Divergent thread(s) in block.
=========     at k+0xc0 in {file}:57
=========     by thread (0,0,0) in block (0,0,0)
=========
"""


# ---- workers under a tool: a program in its place that answers as told

TOOL = f"""#!{sys.executable}
import json, os, sys, time
if sys.argv[1:] == ["--version"]:
    print("NVIDIA (R) Compute Sanitizer\\nVersion 2025.3.1.0 (build 1)")
    sys.exit()
options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--") and "=" in a)
pipe = os.fdopen(int(sys.argv[-2]), "w")
script = json.loads(open(os.environ["PLAYED"]).read())
said = open(options["log-file"], "w")
print("========= COMPUTE-SANITIZER", file=said, flush=True)
with open(os.environ["PLAYED"] + "." + options["tool"], "a") as heard:
    print("start", file=heard, flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        what = f"{{options['tool']}} {{job['do']}} {{job.get('case', '')}}".strip()
        print(what, file=heard, flush=True)
        row = script.get(what, {{}})
        print(row.get("says", ""), file=said, flush=True)
        if row.get("dies"):
            print("the tool fell over", flush=True)
            os._exit(3)
        time.sleep(row.get("sleeps", 0))
        print(json.dumps({{"event": "done", "ok": True, **row.get("reply", {{}})}}), file=pipe, flush=True)
"""


class Played:
    """The program in the tool's place: what it is told to say, and what it was asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        home = folder / "cuda"
        (home / "bin").mkdir(parents=True)
        self.path = home / "bin/compute-sanitizer"
        self.path.write_text(TOOL)
        self.path.chmod(0o755)
        self.script = folder / "played"
        self.script.write_text("{}")
        monkeypatch.setenv("CUDA_HOME", str(home))
        monkeypatch.setenv("PLAYED", str(self.script))

    def say(self, **rows: object) -> None:
        import json

        self.script.write_text(json.dumps({k.replace("__", " "): v for k, v in rows.items()}))

    def heard(self, name: str) -> list[str]:
        return [x.removeprefix(f"{name} ") for x in Path(f"{self.script}.{name}").read_text().splitlines()]


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    return Played(tmp_path, monkeypatch)


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    target = write_target(tmp_path / "t")
    return Subject(target, load_spec(target), Options(timeout=5), tmp_path, {"saxpy": "k"})


@pytest.fixture
def sanitizing() -> Iterator[Sanitizing]:
    with closing(Sanitizing("sm_90a", 2.0, None)) as made:
        yield made


def test_it_is_found_by_cuda_home_and_says_its_version(played: Played) -> None:
    assert find_sanitizer() == str(played.path)
    assert version_of(str(played.path)) == "2025.3.1.0"


def test_each_tool_runs_both_sides_over_the_cases(
    played: Played, sanitizing: Sanitizing, subject: Subject
) -> None:
    found = sanitizing.serve(subject)
    assert found.status is Status.PASSED, found.message
    assert found.sanitize is not None
    assert [(t.name, t.side, t.cases) for t in found.sanitize.tools] == [
        (name, side, ["one", "typical"]) for name in TOOLS for side in ("original", "port")
    ]
    assert {t.version for t in found.sanitize.tools} == {"2025.3.1.0"}
    assert found.sanitize.left_out == {"empty": "a grid side is 0: nothing is launched"}
    for name in TOOLS:
        assert played.heard(name) == [
            "start",
            "load_checked_original",
            "check_original one",
            "check_original typical",
            "load_checked_port",
            "check_port one",
            "check_port typical",
        ]


def test_a_workers_second_target_needs_no_new_worker(
    played: Played, sanitizing: Sanitizing, subject: Subject
) -> None:
    sanitizing.serve(subject)
    sanitizing.serve(subject)
    assert played.heard("memcheck").count("start") == 1
    assert played.heard("memcheck").count("load_checked_port") == 2


def test_what_a_tool_tells_is_the_cases_that_it_ran(
    played: Played, sanitizing: Sanitizing, subject: Subject
) -> None:
    played.say(initcheck__check_port__one={"says": UNSET.format(file="port.py")})
    found = sanitizing.serve(subject)
    assert (found.status, found.code, found.line) == (Status.SANITIZER, "CP8006", 7)
    assert found.sanitize is not None
    (told,) = found.sanitize.findings
    assert (told.side, told.case, told.block, told.thread) == ("port", "one", 1, 3)
    ran = {(t.name, t.side): t for t in found.sanitize.tools}
    # The first case that shows a fault is enough.
    assert ran["initcheck", "port"].cases == ["one"]
    assert (ran["initcheck", "port"].findings, ran["memcheck", "port"].findings) == (1, 0)
    assert "check_port typical" not in played.heard("initcheck")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"sleeps": 30}, "no answer within 2 s"),
        ({"dies": True}, "ended with exit code 3; last output: the tool fell over"),
        (
            {"reply": {"ok": False, "code": "CP7003", "message": "cuLaunchKernel: X"}},
            "CP7003 cuLaunchKernel: X",
        ),
        ({"says": "========= Error: Device not supported"}, "Error: Device not supported"),
    ],
)
def test_a_run_that_a_tool_does_not_finish_is_no_clean_one(
    played: Played, sanitizing: Sanitizing, subject: Subject, row: dict[str, object], why: str
) -> None:
    played.say(racecheck__check_port__one=row)
    found = sanitizing.serve(subject)
    assert (found.status, found.code) == (Status.NOT_RUN, "CP9012")
    assert found.message == f"racecheck: case one: {why}"
    played.say()
    assert sanitizing.serve(subject).status is Status.PASSED  # by another worker
    assert played.heard("racecheck").count("start") == 2
    assert played.heard("memcheck").count("start") == 1


def test_a_typical_case_that_takes_too_long_is_left_out(
    played: Played, sanitizing: Sanitizing, subject: Subject
) -> None:
    played.say(racecheck__check_port__typical={"sleeps": 30})
    found = sanitizing.serve(subject)
    assert (found.status, found.code) == (Status.PASSED, None), found.message
    assert found.sanitize is not None
    assert found.sanitize.left_out["typical"] == "racecheck of the port: no answer within 2 s"
    assert [t.cases for t in found.sanitize.tools if t.name == "racecheck"] == [["one", "typical"], ["one"]]


def test_a_fault_told_before_a_hang_counts(played: Played, sanitizing: Sanitizing, subject: Subject) -> None:
    played.say(initcheck__check_port__one={"says": UNSET.format(file="port.py"), "sleeps": 30})
    assert sanitizing.serve(subject).code == "CP8006"


def test_a_note_told_before_a_hang_does_not_make_it_clean(
    played: Played, sanitizing: Sanitizing, subject: Subject
) -> None:
    played.say(synccheck__check_port__one={"says": NAMED.format(file="port.py"), "sleeps": 30})
    found = sanitizing.serve(subject)
    assert (found.status, found.code) == (Status.NOT_RUN, "CP9012")
    assert "divergent thread(s) in block" in found.message


def test_a_tool_near_its_limit_of_reports_is_started_anew(
    played: Played, sanitizing: Sanitizing, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitized, "MOST_REPORTS", 2)
    played.say(synccheck__check_port__one={"says": NAMED.format(file="port.py") * 3})
    assert sanitizing.serve(subject).status is Status.PASSED
    assert played.heard("synccheck")[-4:] == [
        "check_port one",
        "start",
        "load_checked_port",
        "check_port typical",
    ]


def test_without_tool_and_emulator_it_says_what_is_missing(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitized, "find_sanitizer", lambda: None)
    monkeypatch.setattr(sanitized, "emulator_gap", lambda: ("CP7106", "no C compiler"))
    with closing(Sanitizing("sm_90a", 2.0, None)) as made:
        found = made.serve(subject)
    assert (found.status, found.code) == (Status.NOT_RUN, "CP9011")
    assert found.message.endswith("no C compiler")


def test_workers_are_renewed_after_many_targets(
    played: Played, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitized, "_TARGETS_PER_WORKER", 2)
    with closing(Checkers(str(played.path), "sm_90a", 2.0)) as checkers:
        cases, _ = chosen_cases(subject.spec, ())
        for _ in range(3):
            checkers.check(subject, cases)
    assert played.heard("memcheck").count("start") == 2


# ---- the worker itself


class Sizes(FakeDriver):
    """The fake driver, with what was allocated."""

    def new(self, size: int) -> int:
        self.sizes = [*getattr(self, "sizes", []), size]
        return super().new(size)


def test_memory_is_exact_and_an_output_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Sizes()
    driver.kernels["k"] = ([4, 4, 8, 8], saxpy_kernel)
    monkeypatch.setattr(cuda.bindings, "driver", driver)
    held = device_jobs.Bench()
    monkeypatch.setattr(device_jobs, "HELD", held)
    monkeypatch.setattr(sanitize_jobs, "HELD", held)
    target = write_target(tmp_path / "t", spec=SPEC.replace('role = "inout"', 'role = "out"'))
    (tmp_path / "cubin").write_bytes(b"x")
    np.arange(1009, dtype=np.float32).tofile(tmp_path / "x")
    load = {"target": str(target), "cubin": str(tmp_path / "cubin"), "names": {"saxpy": "k"}}
    sanitize_jobs.load_checked_original(load, lambda _: None)
    driver.calls.clear()
    job = {"case": "typical", "inputs": {"x": str(tmp_path / "x")}}
    assert sanitize_jobs.check_original(job, lambda _: None) == {}
    assert driver.sizes == [4 * 1009, 4 * 1009]
    moves = [c for c in driver.calls if c.startswith(("cuMem", "cuLaunch"))]
    assert moves == ["cuMemAlloc", "cuMemcpyHtoD", "cuMemAlloc", "cuLaunchKernel", "cuMemFree", "cuMemFree"]


PARENT = """
import sys, time
from verify.isolate import Child
child = Child(argv=[sys.argv[1], "--log-file=" + sys.argv[2], sys.executable, "-P", "-c", sys.argv[3]])
child._process.stdin.write(b'{"do": "sleep"}\\n')
child._process.stdin.flush()
print(child._next(time.monotonic() + 20)["pid"], flush=True)
sys.stdin.read()
"""
BUSY = """
import os, time
from verify import sanitize_worker, worker
def sleep(job, emit):
    emit({"event": "busy", "pid": os.getpid()})
    time.sleep(60)
worker.main(sanitize_worker._under_tool, {"sleep": sleep})
"""
BETWEEN = f"""#!{sys.executable}
import subprocess, sys
sys.exit(subprocess.run(sys.argv[2:], close_fds=False).returncode)
"""


def test_a_busy_worker_ends_with_the_process_that_asks(tmp_path: Path) -> None:
    between = tmp_path / "between"
    between.write_text(BETWEEN)
    between.chmod(0o755)
    root = str(Path(sanitize_jobs.__file__).parent.parent)
    parent = subprocess.Popen(
        [sys.executable, "-P", "-c", PARENT, str(between), str(tmp_path / "log"), BUSY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    assert _alive(worker)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    end = time.monotonic() + 10
    while _alive(worker) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _alive(worker)


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
