"""The compile stage with the real DSL and the original with real compilers; no GPU."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "unit/verify"))

from saxpy_target import PORT, SPEC, write_target

from verify.ceiling_kernels import _fma_ptx
from verify.compile import CompileJob, compile_ports, job_of
from verify.original import BuildError, NoCompilerError, _with_nvcc, _with_nvrtc
from verify.run import Options, verify_target
from verify.spec_file import load_spec
from verify.sweep import _PTX as SWEEP
from verify.verdict import StageResult, Status

pytestmark = pytest.mark.dsl


def job(folder: Path, port: str = PORT) -> CompileJob:
    target = write_target(folder, port)
    return job_of(target, load_spec(target))


def by_name(results: Iterator[StageResult]) -> dict[str, StageResult]:
    return {Path(r.target).name: r for r in results}


def test_good_ports_compile_although_bad_ones_share_their_child(tmp_path: Path) -> None:
    body = "def saxpy():\n    pass\ndef compile_saxpy(block):\n    "
    jobs = [
        job(tmp_path / "good"),
        job(tmp_path / "raises_on_import", "import cutlass\nraise RuntimeError('no')\n"),
        job(tmp_path / "refused", PORT.replace("y[i] = a * x[i] + y[i]", "y[i] = Int32(1)")),
        job(tmp_path / "dies", f"import os\n{body}os.abort()\n"),
        job(tmp_path / "hangs", f"import time\n{body}time.sleep(60)\n"),
        job(tmp_path / "empty", f"{body}return 3\n"),
        job(tmp_path / "last"),
    ]
    got = by_name(compile_ports(jobs, jobs_n=1, timeout=5))
    assert {n: (r.status, r.code) for n, r in got.items()} == {
        "good": (Status.PASSED, None),
        "raises_on_import": (Status.COMPILE_ERROR, "CP6101"),
        "refused": (Status.COMPILE_ERROR, "CP6102"),
        "dies": (Status.CRASHED, "CP6104"),
        "hangs": (Status.TIMEOUT, "CP6103"),
        "empty": (Status.COMPILE_ERROR, "CP6105"),
        "last": (Status.PASSED, None),
    }
    assert got["raises_on_import"].line == 2
    facts = got["good"].compile
    assert facts is not None
    (kernel,) = facts.kernels
    assert kernel.registers is not None
    assert 4 <= kernel.registers <= 40
    assert (kernel.frame_bytes, kernel.spill_bytes) == (0, 0)
    assert facts.features == {"global_loads": 2, "global_stores": 1, "fma": 1}
    assert not (tmp_path / "good" / "__pycache__").exists()


def test_what_the_dsl_takes_for_its_own_bug_is_told_as_what_it_is(tmp_path: Path) -> None:
    """A loop of the DSL in a function that the DSL was not told of."""
    loop = "    for _ in cutlass.range_constexpr(1):\n        y[i] = a * x[i] + y[i]\n"
    helper = f"def store(i, x, y, a):\n{loop}\n\n"
    text = PORT.replace("@cute.kernel", helper + "@cute.kernel")
    text = text.replace(
        "        y[i] = a * x[i] + y[i]\n\n\n@cute.jit", "        store(i, x, y, a)\n\n\n@cute.jit"
    )
    (got,) = compile_ports([job(tmp_path / "t", text)])
    assert (got.code, got.line) == ("CP6102", text[: text.index("for _ in")].count("\n") + 1)
    assert "The function of this line lacks `@cute.jit`" in got.message
    assert "bug in the DSL" not in got.message


@pytest.mark.parametrize("arch", ["sm_80", "sm_100a", "sm_120a"])
def test_other_architectures(tmp_path: Path, arch: str) -> None:
    (got,) = compile_ports([job(tmp_path / "t")], arch=arch)
    assert got.compile is not None, got.message
    assert got.compile.arch == arch


def test_closing_the_iterator_ends_the_work(tmp_path: Path) -> None:
    body = "import time\ndef saxpy():\n    pass\ndef compile_saxpy(block):\n    time.sleep(60)\n"
    results = compile_ports([job(tmp_path / "good"), job(tmp_path / "hangs", body)], timeout=60)
    assert next(results).status is Status.PASSED
    results.close()  # type: ignore[attr-defined]


def test_a_target_without_a_gpu_is_compiled(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t")
    verdict = verify_target(target, Options(stages=("compile",)))
    assert verdict.status is Status.COMPILED
    assert (target / "verdict.json").exists()


DEVICE = """
namespace ns {
__constant__ float table[4];
__device__ int counter;
struct P { int n; float a; };
template <typename T, int N> __global__ void k(const T* x, T* y, P p) {
  __shared__ T s[N];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x % N] = i < p.n ? x[i] : T(0);
  __syncthreads();
  if (i < p.n) { y[i] = s[0] * T(table[i & 3]) + T(p.a); atomicAdd(&counter, 1); }
}
}
"""
TEMPLATE = (
    SPEC.replace('kernel = "saxpy"', 'kernel = "ns::k<float, 32>"')
    + '[[arg]]\nname = "t"\nkind = "buffer"\nelems = 4\ndtype = "f32"\nrole = "in"\n'
    + 'symbol = "ns::table"\n'
    + '[[arg]]\nname = "c"\nkind = "buffer"\nelems = 1\ndtype = "i32"\nrole = "inout"\n'
    + 'symbol = "ns::counter"\n'
)


@pytest.mark.parametrize("build", [_with_nvrtc, _with_nvcc])
def test_original_templates_and_globals_are_found(tmp_path: Path, build) -> None:  # type: ignore[no-untyped-def]
    target = write_target(tmp_path / "t", spec=TEMPLATE, device=DEVICE)
    path = target / "original/device.cu"
    try:
        built = build(path.read_bytes(), path, load_spec(target), "sm_90a")
    except NoCompilerError as e:
        pytest.skip(str(e))
    assert built.names == {
        "ns::k<float, 32>": "_ZN2ns1kIfLi32EEEvPKT_PS1_NS_1PE",
        "&ns::table": "_ZN2ns5tableE",
        "&ns::counter": "_ZN2ns7counterE",
    }
    assert ".entry" in built.ptx
    told = build(path.read_bytes(), path, load_spec(target), "sm_90a", ["-lineinfo"])
    assert ".loc" not in built.ptx and f'"{path}"' in told.ptx
    assert told.names == built.names


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_an_original_that_does_not_build_shows_the_compilers_words(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t", device="__global__ void saxpy(int n) { nothing }\n")
    path = target / "original/device.cu"
    with pytest.raises(BuildError, match="nothing"):
        _with_nvcc(path.read_bytes(), path, load_spec(target), "sm_90a")


def runs(tool: str) -> bool:
    """Whether `tool` is there and works: a wrapper on PATH may have nothing behind it."""
    if shutil.which(tool) is None:
        return False
    try:
        return (
            subprocess.run([tool, "--version"], capture_output=True, check=False, timeout=60).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


@pytest.mark.skipif(not runs("ptxas"), reason="no ptxas that runs")
@pytest.mark.parametrize("text", [SWEEP, _fma_ptx()], ids=["sweep", "fma"])
def test_own_kernels_are_valid_ptx(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "own.ptx").write_bytes(text)
    for arch in ("sm_80", "sm_90a", "sm_120"):
        subprocess.run(["ptxas", f"-arch={arch}", "-o", "/dev/null", "own.ptx"], cwd=tmp_path, check=True)
