"""The flags of the original's own build: what its compiler is given, and what the verdict says."""

from __future__ import annotations

from pathlib import Path

import pytest
from saxpy_target import SPEC, write_target

from verify.flags import given
from verify.original import NoCompilerError, build
from verify.spec_file import load_spec


@pytest.mark.parametrize(
    ("flags", "nvrtc", "nvcc"),
    [
        (["--use_fast_math", "-DN=4"], ["--use_fast_math", "-DN=4"], ["--use_fast_math", "-DN=4"]),
        (["-O3", "-Xcompiler", "-fPIC"], [], ["-O3", "-Xcompiler", "-fPIC"]),
        (["-Xptxas", "-O1", "-use_fast_math"], ["--ptxas-options=-O1", "-use_fast_math"], None),
        (["--ptxas-options=-O2"], ["--ptxas-options=-O2"], None),
        (["-maxrregcount", "32", "-D", "A"], ["--maxrregcount=32", "-DA"], None),
        # built for another GPU, or for a debugger: no opponent for either compiler
        (["-arch=sm_50", "-G", "--fmad=false"], ["--fmad=false"], None),
        (["-arch", "sm_50", "-gencode", "arch=compute_50,code=sm_50", "-g"], [], None),
    ],
)
def test_what_each_compiler_is_given(flags: list[str], nvrtc: list[str], nvcc: list[str] | None) -> None:
    assert given(flags, "nvrtc")[0] == nvrtc
    assert given(flags, "nvcc")[0] == (nvrtc if nvcc is None else nvcc)


def test_a_dropped_flag_is_told_with_its_value() -> None:
    assert given(["-arch", "sm_50", "-O3", "-G"], "nvrtc") == ([], ["-arch sm_50", "-O3", "-G"])
    assert given(["-O3", "-G"], "nvcc") == (["-O3"], ["-G"])


def test_flags_reach_the_compiler(tmp_path: Path) -> None:
    flags = '["-Xptxas", "-O1", "-arch", "sm_50", "--use_fast_math"]'
    spec = SPEC.replace('kernel = "saxpy"', f'kernel = "saxpy"\nflags = {flags}')
    device = "__global__ void saxpy(int n, float a, const float* x, float* y) { y[0] = a / x[0]; }\n"
    target = write_target(tmp_path / "t", "", spec, device)
    try:
        fast = build(target, load_spec(target), "sm_90a")
    except NoCompilerError as e:
        pytest.skip(str(e))
    assert "div.approx" in fast.ptx
    assert ".target sm_90a" in fast.ptx
    assert "--use_fast_math" in fast.options
    assert "--ptxas-options=-O1" in fast.options
    assert fast.dropped == ["-arch sm_50"]
    plain = write_target(tmp_path / "plain", "", SPEC, device)
    assert "div.rn" in build(plain, load_spec(plain), "sm_90a").ptx
