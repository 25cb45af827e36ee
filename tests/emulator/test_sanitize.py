"""The sanitize stage by the emulator: alone, and beside a GPU without compute-sanitizer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "unit/verify"))

from saxpy_target import PORT, SPEC, write_target

from verify import sanitized
from verify.disassembly import find_nvdisasm
from verify.emulated import Slots
from verify.options import Options
from verify.original_side import build_original
from verify.run import verify_target
from verify.sanitized import Sanitizing, Subject
from verify.sides import ORIGINAL, ChildSide
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status, Verdict
from verify.where import emulator_gap

pytest.importorskip("cutlass")
pytestmark = [pytest.mark.dsl, pytest.mark.skipif(bool(emulator_gap()[1]), reason=emulator_gap()[1])]
ARCH = "sm_90a"
PAST = PORT.replace("if i < n:", "if i < n + 1:")
CU_PAST = """
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = a * x[i] + y[i];
}
"""


@pytest.fixture(scope="module")
def slots() -> Iterator[Slots]:
    with closing(Slots(ARCH, 60.0)) as made:
        yield made


def beside_a_gpu(
    folder: Path, slots: Slots, monkeypatch: pytest.MonkeyPatch, port: str, **parts: str
) -> StageResult:
    """The stage as it runs after a parity on a GPU: no compute-sanitizer, the emulator beside."""
    monkeypatch.setattr(sanitized, "find_sanitizer", lambda: None)
    target = write_target(folder / "t", port, **parts)
    built = folder / "built"
    built.mkdir()
    with closing(ChildSide(ORIGINAL, {}, ARCH, 60.0)) as builder:
        names = build_original(builder, str(target), ARCH, built, lines=True).names
    assert (built / "cubin.lines").read_bytes()[:4] == b"\x7fELF"
    with closing(Sanitizing(ARCH, 60.0, slots)) as sanitizing:
        return sanitizing.serve(Subject(target, load_spec(target), Options(), built, names))


def test_a_clean_port(tmp_path: Path, slots: Slots, monkeypatch: pytest.MonkeyPatch) -> None:
    found = beside_a_gpu(tmp_path, slots, monkeypatch, PORT)
    assert found.status is Status.PASSED, found.message
    assert found.sanitize is not None
    assert [(t.name, t.side, t.cases) for t in found.sanitize.tools] == [
        ("emulator", "original", ["one", "typical"]),
        ("emulator", "port", ["one", "typical"]),
    ]


def test_a_port_that_reads_past_the_end(
    tmp_path: Path, slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = beside_a_gpu(tmp_path, slots, monkeypatch, PAST)
    assert (found.status, found.code) == (Status.SANITIZER, "CP8001"), found.message
    assert found.line == PAST[: PAST.index("y[i] = a *")].count("\n") + 1


def test_what_the_original_does_too_is_inherited(
    tmp_path: Path, slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = beside_a_gpu(tmp_path, slots, monkeypatch, PAST, device=CU_PAST)
    assert (found.status, found.code) == (Status.ORIGINAL_SUSPECT, "CP8001")
    assert found.sanitize is not None
    assert {(f.side, f.inherited) for f in found.sanitize.findings} == {("original", False), ("port", True)}


def test_a_case_too_large_for_the_emulator_is_left_out(
    tmp_path: Path, slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitized, "too_large", lambda r, _: "too large" if r.case.name == "typical" else "")
    found = beside_a_gpu(tmp_path, slots, monkeypatch, PORT)
    assert found.status is Status.PASSED
    assert found.sanitize is not None
    assert found.sanitize.tools[1].cases == ["one"]
    assert found.sanitize.left_out["typical"] == "too large"


def test_in_the_emulator_parity_is_the_check(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t", PORT, SPEC)
    verdict = verify_target(target, Options(device="emulator"))
    stage = verdict.stage("sanitize")
    assert stage is not None
    assert (stage.status, stage.code) == (Status.PASSED, None)
    assert stage.sanitize is not None
    assert [(t.name, t.side, t.cases[:2], t.findings) for t in stage.sanitize.tools] == [
        ("emulator", "original", ["one", "typical"], 0),
        ("emulator", "port", ["one", "typical"], 0),
    ]
    held_out = stage.sanitize.tools[0].cases[2:]
    assert held_out and all(c.startswith("held out: n=") for c in held_out)
    assert set(stage.sanitize.left_out) == {"empty"}
    assert "; sanitizers clean (emulator); speed not compared" in verdict.proven


def test_the_verdict_compares_the_algorithms(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t", PORT)
    verdict = verify_target(target, Options(device="emulator", stages=("parity",), algorithm=True))
    assert verdict.algorithm is not None
    assert verdict.algorithm.case == "typical"
    rows = {r.key: (r.original, r.port) for r in verdict.algorithm.rows}
    assert rows["launches"] == (1, 1)
    assert rows["grid"] == ("4x1x1", "4x1x1")
    assert rows["block"] == ("256x1x1", "256x1x1")
    assert rows["executed_loads"] == (2 * 1009, 2 * 1009)
    assert rows["traffic"] == (3 * 4 * 1009, 3 * 4 * 1009)
    assert rows["load_width"] == (32, 32)
    assert ("machine_instructions" in rows) == (find_nvdisasm() is not None)
    assert verdict.algorithm.telling == []
    again = Verdict.model_validate_json((target / "verdict.json").read_text(encoding="utf-8"))
    assert again.algorithm == verdict.algorithm


def test_it_is_not_run_where_it_is_not_asked_for_or_parity_failed(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t", PORT)
    without = verify_target(target, Options(device="emulator", stages=("parity",)))
    stage = without.stage("sanitize")
    assert stage is not None
    assert (stage.status, stage.message) == (Status.NOT_RUN, "not asked for")
    assert "sanitizers" not in without.proven
    wrong = verify_target(write_target(tmp_path / "w", PAST), Options(device="emulator"))
    stage = wrong.stage("sanitize")
    assert stage is not None
    assert (stage.status, stage.message) == (Status.NOT_RUN, "parity ended SANITIZER")
