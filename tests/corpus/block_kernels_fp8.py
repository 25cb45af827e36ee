"""Kernels around e5m2_convert and e2m1_expand; `python -m tests.corpus.block_kernels_fp8 FILE` runs them."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.corpus.block_kernels import run

# isort: split
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float8E5M2, Float32, Uint32
from cutlass.cute.runtime import make_ptr

from corpus.blocks.e2m1_expand import from_e2m1x8
from corpus.blocks.e5m2_convert import from_e5m2, to_e5m2

THREADS = 64


@cute.kernel
def e5m2_kernel(mX: cute.Tensor, mQ: cute.Tensor, mBack: cute.Tensor):
    """fp32 to codes and those back, a vector a thread; a number where vectors have one element."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    unit, width = block * THREADS + thread, mX.shape[1]
    if cutlass.const_expr(width == 1):
        code = to_e5m2(mX[unit, 0])
        mQ[unit, 0] = code
        mBack[unit, 0] = from_e5m2(code)
    else:
        rX = cute.make_rmem_tensor(cute.make_layout(width), Float32)
        rQ = cute.make_rmem_tensor(cute.make_layout(width), Float8E5M2)
        for j in cutlass.range_constexpr(width):
            rX[j] = mX[unit, j]
        rQ.store(to_e5m2(rX.load()))
        rX.store(from_e5m2(rQ.load()))
        for j in cutlass.range_constexpr(width):
            mQ[unit, j] = rQ[j]
            mBack[unit, j] = rX[j]


@cute.jit
def e5m2_launch(
    x: cute.Pointer, q: cute.Pointer, back: cute.Pointer, units: cutlass.Constexpr, width: cutlass.Constexpr
):
    layout = cute.make_layout((units, width), stride=(width, 1))
    mX, mQ, mBack = (cute.make_tensor(p, layout) for p in (x, q, back))
    e5m2_kernel(mX, mQ, mBack).launch(grid=(units // THREADS, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def codes_kernel(mQ: cute.Tensor, mBack: cute.Tensor):
    """Codes of e5m2 as they are."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    unit = block * THREADS + thread
    mBack[unit] = from_e5m2(mQ[unit])


@cute.jit
def codes_launch(q: cute.Pointer, back: cute.Pointer):
    mQ, mBack = (cute.make_tensor(p, cute.make_layout(256)) for p in (q, back))
    codes_kernel(mQ, mBack).launch(grid=(256 // THREADS, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def e2m1_kernel(mQ: cute.Tensor, mO: cute.Tensor, hardware: cutlass.Constexpr):
    """A word of codes a thread."""
    thread, _, _ = cute.arch.thread_idx()
    values = from_e2m1x8(mQ[thread], hardware)
    for k in cutlass.range_constexpr(8):
        mO[thread, k] = values[k]


@cute.jit
def e2m1_launch(q: cute.Pointer, o: cute.Pointer, hardware: cutlass.Constexpr):
    mQ = cute.make_tensor(q, cute.make_layout(THREADS))
    mO = cute.make_tensor(o, cute.make_layout((THREADS, 8), stride=(8, 1)))
    e2m1_kernel(mQ, mO, hardware).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def numbers() -> np.ndarray:
    """Every e5m2, midpoints between neighbours and what lies beside them, odd values; both signs."""
    codes = np.arange(124, dtype=np.uint16)
    values = (codes << 8).view(np.float16).astype(np.float32)
    middles = (values[:-1] + values[1:]) / 2
    past = np.array([61439, 61440, 61441, 65504, 1e30, np.inf, np.nan, 2.0**-17, 2.0**-18, 1e-40], np.float32)
    zero, far = np.float32(0), np.float32(np.inf)
    x = np.concatenate([values, middles, np.nextafter(middles, zero), np.nextafter(middles, far), past])
    x = np.concatenate([x, -x]).astype(np.float32)
    return np.concatenate([x, np.zeros(-len(x) % (8 * THREADS), np.float32)])


def words() -> np.ndarray:
    """Every code in every place of a word, beside every other."""
    rng = np.random.default_rng(3)
    same = np.arange(16, dtype=np.uint32) * np.uint32(0x11111111)
    return np.concatenate([same, rng.integers(0, 1 << 32, THREADS - 16, np.uint32)])


def main() -> None:
    told: dict[str, np.ndarray] = {"x": numbers(), "words": words()}
    x = told["x"]
    for width in (1, 2, 4, 8):
        arrays = [(Float32, x), (Float8E5M2, np.zeros(len(x), np.uint8)), (Float32, np.zeros_like(x))]
        _, told[f"codes {width}"], told[f"back {width}"] = run(e5m2_launch, arrays, len(x) // width, width)
    every = np.arange(256, dtype=np.uint8)
    told["every"] = run(codes_launch, [(Float8E5M2, every), (Float32, np.zeros(256, np.float32))])[1]
    arrays = [(Uint32, told["words"]), (Float32, np.zeros((THREADS, 8), np.float32))]
    told["e2m1"] = run(e2m1_launch, arrays, False)[1]
    np.savez(Path(sys.argv[1]), **told)


def hardware() -> None:
    """The PTX of the conversion on sm_100, which ptxas has assembled."""
    at = [make_ptr(t, 256, cutlass.AddressSpace.gmem, assumed_align=16) for t in (Uint32, Float32)]
    made = cute.compile(e2m1_launch, *at, True).artifacts
    assert made.CUBIN
    print(made.PTX)


if __name__ == "__main__":
    hardware() if sys.argv[1] == "sm_100" else main()
