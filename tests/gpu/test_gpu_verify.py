"""Every stage on a real GPU: a right port passes with times, wrong ones are caught by their own codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "unit/verify"))

from saxpy_target import PORT, SPEC, write_target

from tests.gpu import timing_trial
from verify.environment import find_gpu
from verify.run import Options, verify_target
from verify.verdict import Status, Verdict

GPU, WHY = find_gpu()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(GPU is None, reason=WHY)]
LARGE = '[[case]]\nname = "large"\nsizes = { n = 33554432 }\nrole = "large"\n'
STORE = "y[i] = a * x[i] + y[i]"


def verified(
    folder: Path, port: str, spec: str = SPEC, device: str | None = None, timeout: float = 60
) -> Verdict:
    parts = {"device": device} if device else {}
    target = write_target(folder, port, spec, **parts)
    return verify_target(target, Options(record=True, timeout=timeout))


def test_a_right_port_passes_with_times(tmp_path: Path) -> None:
    got = verified(tmp_path / "t", PORT, SPEC + LARGE)
    assert got.status is Status.PASSED, got.proven
    bench = got.stage("bench")
    assert bench is not None
    assert bench.bench is not None, bench.message
    facts = bench.bench
    print(facts.model_dump_json(indent=1))
    # One launch moves 402 MB: no GPU does that in under 20 microseconds.
    assert 20 < facts.original.median_us < 20_000
    assert 0.8 < facts.ratio < 1.25
    assert facts.floor is not None, facts.notes
    assert 0.3 < facts.floor.original_share < 1.05
    assert facts.floor.impossible_us < facts.original.median_us
    for side in ("port", "original"):
        launch, first = facts.launch[side], facts.first_call[side]  # type: ignore[index]
        assert 1 < launch.call.median_us < launch.done.median_us
        # Building takes longer than everything after it.
        assert first.build_us is not None
        assert first.build_us > first.launch_us > facts.original.median_us
    (typical,) = facts.also
    assert typical.case == "typical"
    assert GPU is not None
    assert (tmp_path / "t/baselines" / f"{GPU.slug}.json").exists()


def test_the_words_for_times_are_right(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t", PORT, SPEC + LARGE)
    out = tmp_path / "trial.json"
    assert timing_trial.main([str(target), "--repetitions", "10", "--out", str(out)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["itself_same"] == 1.0
    assert found["slower_by_3_percent_slower"] >= 0.9


def test_a_short_kernel_is_timed_by_graph(tmp_path: Path) -> None:
    got = verified(tmp_path / "t", PORT)
    assert got.status is Status.PASSED, got.proven
    bench = got.stage("bench")
    assert bench is not None
    assert bench.bench is not None, bench.message
    assert bench.bench.method == "CUDA graph replays"
    assert bench.bench.original.median_us < 20


@pytest.mark.parametrize(
    ("old", "new", "status", "codes"),
    [
        ("if i < n:", "if i < n - 1:", Status.WRONG_VALUES, {"CP7012"}),
        ("if i < n:", "if i <= n:", Status.SANITIZER, {"CP7007"}),
        (STORE, "y[i] = a * x[i] - y[i]", Status.WRONG_VALUES, {"CP7012"}),
        (STORE, "y[i] = Float32(cutlass.Float16(a * x[i] + y[i]))", Status.WRONG_VALUES, {"CP7012"}),
        (STORE, "y[i + 268435456] = a", Status.LAUNCH_ERROR, {"CP7003"}),
        (STORE, "while y[i] == y[i]:\n            y[i] = a", Status.TIMEOUT, {"CP7005"}),
        (STORE, "pass", Status.LAUNCH_ERROR, {"CP7011"}),
    ],
)
def test_a_wrong_port_is_caught(tmp_path: Path, old: str, new: str, status: Status, codes: set[str]) -> None:
    assert old in PORT
    got = verified(tmp_path / "t", PORT.replace(old, new), timeout=25)
    parity = got.stage("parity")
    assert parity is not None
    # An off-by-one write of n = 1 shows either as nothing written or as a wrong value.
    also = {"CP7011"} if new == "if i < n - 1:" else set()
    assert parity.code in codes | also, (parity.code, parity.message)
    assert got.status is status or also


STRUCT_DEVICE = """
struct P { int n; float a; };
__constant__ float table[4];
__device__ int counter;
template <typename T> __global__ void k(const T* x, T* y, P p) {
  __shared__ T s[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < p.n ? x[i] : T(0);
  __syncthreads();
  if (i < p.n) {
    y[i] = s[threadIdx.x ^ 1] * table[i & 3] + p.a;
    atomicAdd(&counter, 1);
  }
}
"""
STRUCT_SPEC = """
schema = 1
name = "k"
[original]
kernel = "k<float>"
[port]
entry = "k"
[launch]
grid = ["ceil_div(n, 128)"]
block = [128]
[[arg]]
name = "x"
kind = "buffer"
dtype = "f32"
elems = "n"
role = "in"
[[arg]]
name = "y"
kind = "buffer"
dtype = "f32"
elems = "n"
role = "out"
[[arg]]
name = "p"
kind = "struct"
size = 8
fields = [
  { name = "n", dtype = "i32", offset = 0, value = "n" },
  { name = "a", dtype = "f32", offset = 4, value = "0.25" },
]
[[arg]]
name = "table"
kind = "buffer"
dtype = "f32"
elems = 4
role = "in"
symbol = "table"
[[arg]]
name = "counter"
kind = "buffer"
dtype = "i32"
elems = 1
role = "inout"
symbol = "counter"
[[case]]
name = "tail"
sizes = { n = 131 }
role = "boundary"
[[case]]
name = "typical"
sizes = { n = 100003 }
"""
STRUCT_PORT = '''"""A kernel with a struct, a constant table and a global counter."""

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream
from cutlass import Constexpr, Float32, Int32

GMEM = cutlass.AddressSpace.gmem
FloatPtr = cutlass.Pointer[Float32, GMEM]
IntPtr = cutlass.Pointer[Int32, GMEM]
COMPILED = {}


@cute.kernel
def k_kernel(x: FloatPtr, y: FloatPtr, p_n: Int32, p_a: Float32, table: FloatPtr, counter: IntPtr):
    s = cutlass.Pointer(cute.arch.alloc_smem(Float32, 128).llvm_ptr, dtype=Float32)
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    i = b * Int32(128) + t
    v = Float32(0.0)
    if i < p_n:
        v = x[i]
    s[t] = v
    cute.arch.sync_threads()
    if i < p_n:
        y[i] = s[t ^ 1] * table[i & 3] + p_a
        cute.arch.atomic_add(counter, Int32(1))


@cute.jit
def k_launch(x: FloatPtr, y: FloatPtr, p_n: Int32, p_a: Float32, table: FloatPtr, counter: IntPtr,
             gx: Int32, gy: Int32, gz: Int32, block: Constexpr, smem: Int32, stream: CUstream):
    k_kernel(x, y, p_n, p_a, table, counter).launch(grid=(gx, gy, gz), block=block, smem=smem, stream=stream)


def at(p, t):
    return cute.runtime.make_ptr(t, p, GMEM, assumed_align=4)


def compile_k(block=(128, 1, 1)):
    if block not in COMPILED:
        f, i = at(1024, Float32), at(1024, Int32)
        COMPILED[block] = cute.compile(
            k_launch, f, f, Int32(0), Float32(0), f, i, Int32(1), Int32(1), Int32(1), block, Int32(0),
            cute.runtime.make_fake_stream())
    return COMPILED[block]


def k(x, y, p_n, p_a, table, counter, *, grid=None, block=(128, 1, 1), smem=0, stream=None):
    compile_k(block)(at(x, Float32), at(y, Float32), Int32(p_n), Float32(p_a), at(table, Float32),
                     at(counter, Int32), Int32(grid[0]), Int32(grid[1]), Int32(grid[2]), Int32(smem),
                     CUstream(stream))
'''


def test_structs_templates_and_globals(tmp_path: Path) -> None:
    got = verified(tmp_path / "t", STRUCT_PORT, STRUCT_SPEC, STRUCT_DEVICE)
    assert got.status is Status.PASSED, got.proven
    bad = STRUCT_PORT.replace("Int32(1))\n\n\n@cute.jit", "Int32(2))\n\n\n@cute.jit")
    assert bad != STRUCT_PORT
    wrong = verified(tmp_path / "w", bad, STRUCT_SPEC, STRUCT_DEVICE)
    assert "counter[0]" in wrong.proven


def test_a_faulty_original_is_suspect(tmp_path: Path) -> None:
    device = "__global__ void saxpy(int n, float a, const float* x, float* y) { y[(1L << 40) + n] = a; }\n"
    got = verified(tmp_path / "t", PORT, device=device)
    assert got.status is Status.ORIGINAL_SUSPECT, got.proven
