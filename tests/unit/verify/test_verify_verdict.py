"""Verdicts can't claim more than their stages; the command's exit codes; what verify may import."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError
from saxpy_target import PORT, write_target

import verify
from verify import run
from verify.__main__ import exit_code, find_targets, main
from verify.codes import CODES
from verify.facts import BenchFacts, CompileFacts, KernelResources, ParityFacts, RunFacts, Timing
from verify.options import Options
from verify.static import check_static
from verify.verdict import StageResult, Status, Verdict, conclude

HOME = Path(verify.__file__).parent
FACTS = CompileFacts(
    arch="sm_90a",
    compile_seconds=0.1,
    ptx_bytes=1,
    ptx_sha256="",
    cubin_bytes=1,
    cubin_sha256="",
    kernels=[KernelResources(name="k", registers=10)],
)
STATIC = StageResult(stage="static", target="t", status=Status.PASSED)
COMPILED = StageResult(stage="compile", target="t", status=Status.PASSED, compile=FACTS)
NO_GPU = StageResult(stage="parity", target="t", status=Status.NOT_RUN, code="CP9002", message="no GPU")


def parity(counted: bool, questions: list[str] | None = None) -> StageResult:
    run = RunFacts(case="a", seed=0, values="spec", grid=(1, 1, 1), block=(1, 1, 1), counted=counted)
    facts = ParityFacts(
        runs=[run],
        outputs=[],
        rule="original",
        deterministic=True,
        order_dependent=False,
        port_repeats=3,
        open_questions=questions or [],
    )
    return StageResult(stage="parity", target="t", status=Status.PASSED, parity=facts)


def verdict(status: Status, *stages: StageResult) -> Verdict:
    return Verdict(target="t", kernel="k", status=status, proven="", stages=list(stages))


def test_passed_needs_every_gate() -> None:
    assert verdict(Status.PASSED, STATIC, COMPILED, parity(True)).status is Status.PASSED
    for stages in ((STATIC, COMPILED), (STATIC, parity(True)), (STATIC, COMPILED, NO_GPU)):
        with pytest.raises(ValidationError):
            verdict(Status.PASSED, *stages)


def test_zero_checks_are_no_pass() -> None:
    with pytest.raises(ValidationError, match="zero counted runs"):
        parity(False)
    with pytest.raises(ValidationError, match="open question"):
        parity(True, ["CP3901: how long?"])


def test_stages_say_why() -> None:
    with pytest.raises(ValidationError, match="NOT_RUN says why"):
        StageResult(stage="parity", target="t", status=Status.NOT_RUN)
    with pytest.raises(ValidationError, match="needs a code"):
        StageResult(stage="parity", target="t", status=Status.WRONG_VALUES, message="x")
    with pytest.raises(ValidationError, match="unknown code"):
        StageResult(stage="parity", target="t", status=Status.WRONG_VALUES, code="CP1", message="x")
    with pytest.raises(ValidationError, match="carries its facts"):
        StageResult(stage="parity", target="t", status=Status.PASSED)


def test_compiled_means_values_were_not_compared() -> None:
    assert verdict(Status.COMPILED, STATIC, COMPILED, NO_GPU)
    with pytest.raises(ValidationError):
        verdict(Status.COMPILED, STATIC, COMPILED, parity(True))
    with pytest.raises(ValidationError):
        verdict(Status.WRONG_VALUES, STATIC, COMPILED, NO_GPU)


def test_no_timing_without_parity() -> None:
    bench = StageResult(stage="bench", target="t", status=Status.AMBIGUOUS, code="CP9102", message="x")
    with pytest.raises(ValidationError, match="no timing without parity"):
        verdict(Status.COMPILED, STATIC, COMPILED, NO_GPU, bench)


def test_conclusions() -> None:
    assert conclude([STATIC, COMPILED, NO_GPU])[0] is Status.COMPILED
    assert "no GPU" in conclude([STATIC, COMPILED, NO_GPU])[1]
    assert conclude([STATIC, COMPILED, parity(True)])[0] is Status.PASSED
    noisy = StageResult(stage="bench", target="t", status=Status.AMBIGUOUS, code="CP9102", message="x")
    assert conclude([STATIC, COMPILED, parity(True), noisy])[0] is Status.PASSED
    slow = noisy.model_copy(update={"status": Status.SLOWER, "code": "CP9101"})
    assert conclude([STATIC, COMPILED, parity(True), slow])[0] is Status.SLOWER


def test_a_slower_typical_case_is_told() -> None:
    time = Timing(median_us=10, p10_us=10, p90_us=10, samples=32)

    def timed(case: str, rating: Literal["SAME", "SLOWER"], ratio: float) -> BenchFacts:
        return BenchFacts(
            case=case, grid=(1, 1, 1), block=(1, 1, 1), rating=rating, ratio=ratio, ratio_low=ratio,
            ratio_high=ratio, port=time, original=time, method="CUDA graph replays", launches_per_sample=1,
            buffer_sets=2, bytes_per_launch=1,
        )  # fmt: skip

    facts = timed("large", "SAME", 1.0).model_copy(update={"also": [timed("typical", "SLOWER", 0.641)]})
    bench = StageResult(stage="bench", target="t", status=Status.PASSED, bench=facts)
    status, proven = conclude([STATIC, COMPILED, parity(True), bench])
    assert status is Status.PASSED
    assert "1.000x of the original's speed (SAME), 0.641x in case typical (SLOWER)" in proven


def test_exit_codes() -> None:
    good = verdict(Status.COMPILED, STATIC, COMPILED, NO_GPU)
    bad_stage = StageResult(
        stage="parity", target="t", status=Status.WRONG_VALUES, code="CP7012", message="x"
    )
    bad = verdict(Status.WRONG_VALUES, STATIC, COMPILED, bad_stage)
    no_dsl = StageResult(stage="compile", target="t", status=Status.NOT_RUN, code="CP9001", message="no DSL")
    lacking = verdict(Status.NOT_RUN, STATIC, no_dsl)
    bug = verdict(Status.AMBIGUOUS, STATIC, COMPILED, bad_stage.model_copy(
        update={"status": Status.AMBIGUOUS, "code": "CP7099"}))  # fmt: skip
    assert [exit_code(v) for v in ([good], [good, bad], [good, lacking], [bug, bad])] == [0, 1, 3, 4]
    assert exit_code([bad, lacking]) == 3  # the highest


def test_a_gpu_that_was_asked_for_by_name_is_lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = verdict(Status.COMPILED, STATIC, COMPILED, NO_GPU)
    assert [exit_code([good], Options(device=d)) for d in ("auto", "gpu", "emulator")] == [0, 3, 0]
    monkeypatch.setattr("verify.where.find_gpu", lambda: (None, "no NVIDIA driver on this machine"))
    target = write_target(tmp_path / "t")
    monkeypatch.setattr(run, "compile_ports", lambda jobs, *_: iter([COMPILED.model_copy(
        update={"target": j.target}) for j in jobs]))  # fmt: skip
    (found,) = run.verify_targets([target], Options(device="gpu"))
    assert [(s.code, s.status) for s in found.stages[2:]] == [("CP9002", Status.NOT_RUN)] * 3


@pytest.mark.parametrize(
    ("port", "code", "line"),
    [
        (PORT, None, None),
        ("def saxpy(:\n", "CP6002", 1),
        (PORT + "import numpy\n", "CP6003", PORT.count("\n") + 1),
        (PORT + "import subprocess\n", "CP6003", PORT.count("\n") + 1),
        (PORT + "from . import other\n", "CP6003", PORT.count("\n") + 1),
        (PORT + "from cuda.bindings import nvrtc\n", "CP6003", PORT.count("\n") + 1),
        (PORT + "from cuda.bindings import driver\nimport math\n", None, None),
        (PORT + "exec('1')\n", "CP6005", PORT.count("\n") + 1),
        (PORT.replace("compile_saxpy", "build"), "CP6004", None),
        ("x = " + "-" * 5000 + "1\n", "CP6002", None),
    ],
)
def test_static_checks(tmp_path: Path, port: str, code: str | None, line: int | None) -> None:
    target = write_target(tmp_path / "t", port)
    got = check_static(target, "port.py", "saxpy")
    assert got.code == code, got.message
    if line is not None:
        assert got.line == line


def test_missing_port(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t")
    (target / "port.py").unlink()
    assert check_static(target, "port.py", "saxpy").code == "CP6002"


def test_targets_are_found_one_level_down(tmp_path: Path) -> None:
    write_target(tmp_path / "b")
    write_target(tmp_path / "a")
    assert find_targets([tmp_path]) == [tmp_path / "a", tmp_path / "b"]
    assert find_targets([tmp_path / "a", tmp_path / "a"]) == [tmp_path / "a"]
    assert find_targets([tmp_path / "none"]) == [tmp_path / "none"]


def test_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 2
    assert "CP6001" in capsys.readouterr().err
    target = write_target(tmp_path / "t")
    assert main([str(target), "--case", "nope"]) == 2
    assert "no case is called nope" in capsys.readouterr().err
    with pytest.raises(SystemExit) as e:
        main([str(target), "--stages", "magic"])
    assert e.value.code == 2


def test_json_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = write_target(tmp_path / "t", "def saxpy(:\n")
    assert main([str(target), "--json", "--stages", "static"]) == 1
    out = json.loads(capsys.readouterr().out)
    assert [v["status"] for v in out["verdicts"]] == ["REJECTED_STATIC"]
    assert json.loads((target / "verdict.json").read_text())["status"] == "REJECTED_STATIC"
    assert sorted(p.name for p in target.iterdir()) == ["original", "port.py", "spec.toml", "verdict.json"]


def test_every_code_has_a_raise_site_and_every_raised_code_a_row() -> None:
    used: set[str] = set()
    for path in HOME.rglob("*.py"):
        if path.name != "codes.py":
            used |= set(re.findall(r"CP[6-9]\d{3}", path.read_text()))
    runtime = HOME / "emulator" / "runtime"  # in C a finding's code is its number
    in_c = "\n".join(p.read_text() for p in runtime.glob("*.[ch]"))
    used |= {f"CP{n}" for n in re.findall(r"\b8\d{3}\b", in_c)} & set(CODES)
    assert used == set(CODES)


def test_verify_knows_nothing_of_the_translator() -> None:
    for path in HOME.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {n.split(".")[0] for n in names}
            assert not roots & {"translator", "clang", "corpus", "typer", "rich"}, path


def test_parent_loads_neither_torch_nor_cutlass_nor_cuda() -> None:
    heavy = ("torch", "cutlass", "cuda", "clang")
    code = f"import sys, verify.__main__; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(HOME.parent)},
    )
    assert done.stdout.strip() == "[]"


def test_every_code_has_its_page_and_no_page_is_left_over() -> None:
    pages = {p.stem: p.read_text() for p in (HOME / "pages").glob("*.md")}
    assert set(pages) == set(CODES)
    for code, text in pages.items():
        assert text.startswith(f"# {code}: {CODES[code]}\n")
        assert all(part in text for part in ("## What it means", "## Why it matters", "## How to fix"))
