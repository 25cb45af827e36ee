"""Kernels around packed_math and fast_math; `python -m tests.corpus.block_kernels_math FILE` emulates them.

What comes back goes to FILE, as .npz: words of packed operations, fp32 of the others.
"""

from __future__ import annotations

import sys

# First of all: it puts what catches launches in place before the DSL is imported.
from tests.corpus.block_kernels import run  # isort: skip

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import BFloat16, Float16, Float32, Int32
from cutlass.cute.runtime import make_ptr

from corpus.blocks.fast_math import exp2, reciprocal, rsqrt, tanh
from corpus.blocks.packed_math import pack, packed, unpack

KINDS = {"f16": Float16, "bf16": BFloat16}
OPERATIONS = ("add", "sub", "mul", "fma", "max", "min", "max_nan", "min_nan")
FUNCTIONS = {"exp2": exp2, "reciprocal": reciprocal, "rsqrt": rsqrt, "tanh": tanh}
COUNT, THREADS = 1 << 16, 256


@cute.kernel
def packed_kernel(
    mX: cute.Tensor, mF: cute.Tensor, mO: cute.Tensor, mU: cute.Tensor, kind: cutlass.Constexpr
):
    """mO: each operation of three words, then mF's pairs packed both ways; mU: the first word unpacked."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    words = [mX[k, i] for k in range(3)]
    for k in cutlass.range_constexpr(len(OPERATIONS)):
        count = 3 if cutlass.const_expr(OPERATIONS[k] == "fma") else 2
        mO[k, i] = packed(OPERATIONS[k], kind, *words[:count])
    for k in cutlass.range_constexpr(2):
        mO[len(OPERATIONS) + k, i] = pack(mF[0, i], mF[1, i], kind, ("rn", "rz")[k])
    mU[0, i], mU[1, i] = unpack(words[0], kind)


@cute.jit
def packed_launch(
    x: cute.Pointer, f: cute.Pointer, o: cute.Pointer, u: cute.Pointer, kind: cutlass.Constexpr
):  # fmt: skip
    rows = (3, 2, len(OPERATIONS) + 2, 2)
    tensors = [
        cute.make_tensor(p, cute.make_layout((n, COUNT), stride=(COUNT, 1)))
        for p, n in zip((x, f, o, u), rows, strict=True)
    ]
    packed_kernel(*tensors, kind).launch(grid=(COUNT // THREADS, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def fast_kernel(mX: cute.Tensor, mO: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    names = list(FUNCTIONS)
    for k in cutlass.range_constexpr(len(names)):
        mO[2 * k, i] = FUNCTIONS[names[k]](mX[i], True)
        mO[2 * k + 1, i] = FUNCTIONS[names[k]](mX[i], False)


@cute.jit
def fast_launch(x: cute.Pointer, o: cute.Pointer):
    mX = cute.make_tensor(x, cute.make_layout(COUNT))
    mO = cute.make_tensor(o, cute.make_layout((2 * len(FUNCTIONS), COUNT), stride=(COUNT, 1)))
    fast_kernel(mX, mO).launch(grid=(COUNT // THREADS, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def moved_kernel(mX: cute.Tensor, kind: cutlass.Constexpr, native: cutlass.Constexpr):
    """The same load before and after a sum: one load is enough where the sum has no side effects."""
    a = mX[0]
    s = (
        cute.arch.add_packed_f16x2(a, a)
        if cutlass.const_expr(native)
        else unpack(packed("max", kind, packed("add", kind, a, a), a), kind)[0].bitcast(Int32)
    )
    mX[1] = s + mX[0]


@cute.jit
def moved_launch(x: cute.Pointer, kind: cutlass.Constexpr, native: cutlass.Constexpr):
    mX = cute.make_tensor(x, cute.make_layout(2))
    moved_kernel(mX, kind, native).launch(grid=(1, 1, 1), block=(1, 1, 1))


def words(seed: int) -> np.ndarray:
    """Three rows of words. Each 16-bit pattern stands once in either half of the first; of the others a
    quarter are corners: zeros, ones, infinities, NaN, least and largest numbers."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 1 << 32, (3, COUNT), np.uint32)
    corners = np.array([0, 0x8000, 0x3C00, 0x3F80, 0x7C00, 0x7F80, 0x7FFF, 0xFE00, 1, 0x8001, 0x7BFF, 0x7F7F])
    for half in (0, 16):
        at = rng.random((3, COUNT)) < 0.25
        x = np.where(at, x & (0xFFFF << (16 - half)) | rng.choice(corners, (3, COUNT)) << half, x)
    x[0] = rng.permutation(COUNT) | rng.permutation(COUNT) << 16
    return x.astype(np.uint32).view(np.int32)


def floats(seed: int, rows: int) -> np.ndarray:
    """fp32 of all sizes, a part of them near 1 and with bits that lie where 16-bit numbers are rounded."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 32, (rows, COUNT), np.uint32)
    ties = (bits & 0xFFFFE000) | rng.choice(np.array([0, 0x1000, 0x8000, 0x9000], np.uint32), bits.shape)
    x = np.where(rng.random(bits.shape) < 0.3, ties, bits).view(np.float32)
    near = (rng.normal(size=bits.shape) * 8).astype(np.float32)
    x = np.where(rng.random(bits.shape) < 0.3, near, x)
    corners = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 65519.9, 65520, 1e-40, -1e-40, 3.4e38, 1e38])
    x[:, : len(corners)] = corners
    return x


def main(path: str) -> None:
    told: dict[str, np.ndarray] = {}
    for k, (name, kind) in enumerate(KINDS.items()):
        x, f = words(k), floats(k, 2)
        out = np.zeros((len(OPERATIONS) + 2, COUNT), np.int32)
        arrays = [(Int32, x), (Float32, f), (Int32, out), (Float32, f * 0)]
        _, _, out, back = run(packed_launch, arrays, kind)
        told |= {f"{name} words": x, f"{name} floats": f, f"{name} out": out, f"{name} back": back}
    x = floats(9, 1)[0]
    out = np.zeros((2 * len(FUNCTIONS), COUNT), np.float32)
    told |= {"x": x, "fast": run(fast_launch, [(Float32, x), (Float32, out)])[1]}
    at = make_ptr(Int32, 256, cutlass.AddressSpace.gmem, assumed_align=16)
    loads = [
        cute.compile(moved_launch, at, kind, native).artifacts.PTX.count("ld.global")
        for kind, native in ((Float16, False), (BFloat16, False), (Float16, True))
    ]
    np.savez(path, **told, loads=np.array(loads))


if __name__ == "__main__":
    main(sys.argv[1])
