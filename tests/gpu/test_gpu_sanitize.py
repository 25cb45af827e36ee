"""The sanitize stage under compute-sanitizer: clean ports are clean, faults are told at their line."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "unit/verify"))

from saxpy_target import PORT, SPEC, write_target

from verify.environment import find_gpu
from verify.facts import FindingFacts
from verify.run import Options, verify_target
from verify.sanitizer import TOOLS, find_sanitizer
from verify.verdict import StageResult, Status

GPU, WHY = find_gpu()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(GPU is None, reason=WHY),
    pytest.mark.skipif(find_sanitizer() is None, reason="no compute-sanitizer"),
]
TARGETS = Path(__file__).parent.parent.parent / "targets"
READ_PAST = """    if i < n + 1:
        v = x[i]
        if i < n or v == 12345.5:
            y[i] = a * v + y[i]
"""
BODY = "    if i < n:\n        y[i] = a * x[i] + y[i]\n"
CU_PAST = """
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) { float v = x[i]; if (i < n || v == 12345.5f) y[i] = a * v + y[i]; }
}
"""
CU_UNSET = """
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + (y[i] == 12345.0f ? 1.0f : 0.0f);
}
"""
UNSET = "    if i < n:\n        y[i] = a * x[i] + (Float32(1.0) if y[i] == 12345.0 else Float32(0.0))\n"
# Each cell is read while another thread stores what is there already.
RACE = """    s = cutlass.Pointer(cute.arch.alloc_smem(Float32, 256).llvm_ptr, dtype=Float32)
    s[t] = x[i] if i < n else Float32(0.0)
    cute.arch.sync_threads()
    v = s[t]
    u = (t + 32) % 256
    j = b * d + u
    s[u] = x[j] if j < n else Float32(0.0)
    cute.arch.sync_threads()
    w = s[t]
    if i < n:
        y[i] = a * (w if v == w else v) + y[i]
"""
OUT_SPEC = SPEC.replace('role = "inout"', 'role = "out"')


def stage(folder: Path) -> StageResult:
    verdict = verify_target(folder, Options(stages=("sanitize",), timeout=60))
    parity = verdict.stage("parity")
    assert parity is not None
    assert parity.status is Status.PASSED, parity.message
    found = verdict.stage("sanitize")
    assert found is not None
    print(found.model_dump_json(indent=1, exclude_none=True))
    return found


def of(found: StageResult, side: str) -> list[FindingFacts]:
    assert found.sanitize is not None
    # The emulator, where it is there too, says the same in its own words.
    return [f for f in found.sanitize.findings if f.side == side and f.message.startswith(TOOLS)]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_a_clean_port_is_clean_under_every_tool(tmp_path: Path) -> None:
    found = stage(Path(shutil.copytree(TARGETS / "cuteport__reduce_sum", tmp_path / "t")))
    assert found.status is Status.PASSED, found.message
    assert found.sanitize is not None
    assert [(t.name, t.side) for t in found.sanitize.tools if t.name != "emulator"] == [
        (tool, side) for tool in TOOLS for side in ("original", "port")
    ]
    assert all(len(t.cases) > 5 and not t.findings and not t.why for t in found.sanitize.tools)
    assert set(found.sanitize.left_out) == {"large"}


def test_a_read_past_the_end_that_values_do_not_show(tmp_path: Path) -> None:
    port = PORT.replace(BODY, READ_PAST)
    found = stage(write_target(tmp_path / "t", port))
    assert (found.status, found.code) == (Status.SANITIZER, "CP8001"), found.message
    assert found.line == line_of(port, "v = x[i]")
    (told,) = of(found, "port")
    assert (told.case, told.block, told.thread, told.inherited) == ("one", 0, 1, False)
    assert of(found, "original") == []


def test_what_the_original_does_too_is_inherited(tmp_path: Path) -> None:
    found = stage(write_target(tmp_path / "t", PORT.replace(BODY, READ_PAST), device=CU_PAST))
    assert (found.status, found.code) == (Status.ORIGINAL_SUSPECT, "CP8001"), found.message
    assert [f.inherited for f in of(found, "port")] == [True]
    (told,) = of(found, "original")
    assert (told.file, told.line) == ("device.cu", 4)


def test_what_the_original_alone_does_is_told(tmp_path: Path) -> None:
    found = stage(write_target(tmp_path / "t", PORT, device=CU_PAST))
    assert found.status is Status.PASSED, found.message
    assert found.message.startswith("the original alone: CP8001 ")


def test_memory_that_nothing_wrote(tmp_path: Path) -> None:
    port = PORT.replace(BODY, UNSET)
    found = stage(write_target(tmp_path / "t", port, OUT_SPEC, device=CU_UNSET))
    assert (found.status, found.code) == (Status.ORIGINAL_SUSPECT, "CP8006"), found.message
    assert {f.code for f in of(found, "port")} == {"CP8006"}
    assert {f.line for f in of(found, "port")} == {line_of(port, "y[i] = a")}


def test_a_race_that_no_value_shows(tmp_path: Path) -> None:
    port = PORT.replace(BODY, RACE)
    found = stage(write_target(tmp_path / "t", port))
    assert (found.status, found.code) == (Status.SANITIZER, "CP8011"), found.message
    assert found.line in (line_of(port, "v = s[t]"), line_of(port, "s[u] = "))
    assert {f.code for f in of(found, "port")} == {"CP8011"}


def test_the_verdict_says_it(tmp_path: Path) -> None:
    verdict = verify_target(write_target(tmp_path / "t", PORT), Options(stages=("sanitize",), timeout=60))
    assert verdict.status is Status.PASSED
    assert "sanitizers clean (memcheck, racecheck, initcheck, synccheck" in verdict.proven
