"""Counts in verdicts and in `emulate --count` are those one finds by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from verify.emulate import Emulated, Request, emulate, report
from verify.options import Options
from verify.run import verify_target
from verify.verdict import Status

N = 999  # of the larger case


SAXPY = Path(__file__).resolve().parents[2] / "targets" / "cuteport__saxpy"


@pytest.fixture
def saxpy(tmp_path: Path) -> Path:
    """The target with two small cases instead of its own."""
    folder = tmp_path / "saxpy"
    shutil.copytree(SAXPY, folder, ignore=shutil.ignore_patterns("verdict.json", "baselines"))
    spec = (folder / "spec.toml").read_text()
    cases = [f'[[case]]\nname = "{n}"\nrole = "boundary"\nsizes = {{ n = {n} }}\n' for n in (257, N)]
    head, tolerance = spec.split("[[case]]")[0], spec[spec.index("[tolerance]") :]
    (folder / "spec.toml").write_text(head + "\n".join(cases) + tolerance)
    return folder


def run(target: Path, *, count: bool) -> Emulated:
    return emulate(Request(target / "original" / "device.cu", target, cases=(str(N),), count=count))


def test_one_kernel(saxpy: Path) -> None:
    (case,) = run(saxpy, count=True).cases
    assert case.counts is not None
    assert case.counts.loads == {"32": 2 * N}
    assert case.counts.stores == {"32": N}
    moved = {n: (t.read, t.written) for n, t in case.counts.traffic.items()}
    assert moved == {"x": (4 * N, 0), "y": (4 * N, 4 * N)}
    assert case.counts.classes["float"] == N
    assert case.counts.barriers == 0


def test_what_a_launch_wrote_and_reads_again_is_not_moved_in(saxpy: Path) -> None:
    source = saxpy / "original" / "device.cu"
    body = "    y[i] = a * x[i];\n    y[i] = y[i] + 1.0f;\n"
    source.write_text(
        'extern "C" __global__ void saxpy(int n, float a, const float* x, volatile float* y) {\n'
        f"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {{\n{body}  }}\n}}\n"
    )
    (case,) = run(saxpy, count=True).cases
    assert case.counts is not None and case.counts.loads == {"32": 2 * N}
    moved = {n: (t.read, t.written) for n, t in case.counts.traffic.items()}
    assert moved == {"x": (4 * N, 0), "y": (0, 4 * N)}


def test_counts_are_told_where_they_are_asked_for(saxpy: Path) -> None:
    asked, plain = run(saxpy, count=True), run(saxpy, count=False)
    assert [line for line in report(asked) if "traffic" in line] == ["    traffic 12.0 kB"]
    assert not [line for line in report(plain) if "traffic" in line]
    assert plain.cases[0].counts is None


@pytest.mark.dsl
def test_both_sides_in_the_verdict(saxpy: Path) -> None:
    options = Options(device="emulator", stages=("static", "compile", "parity"))
    assert verify_target(saxpy, options).status is Status.PASSED
    stages = json.loads((saxpy / "verdict.json").read_text())["stages"]
    counts = next(s for s in stages if s["stage"] == "parity")["parity"]["counts"]
    assert counts["case"] == str(N)
    for side in ("original", "port"):
        assert counts[side]["traffic_bytes"] == 12 * N
        assert counts[side]["loads"] == {"32": 2 * N}
        assert counts[side]["stores"] == {"32": N}
        assert counts[side]["classes"]["float"] == N
        assert sum(counts[side]["classes"].values()) == counts[side]["instructions"]
