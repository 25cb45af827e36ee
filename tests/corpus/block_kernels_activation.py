"""Kernels around the blocks of the activation family, for the emulator; prints their results as JSON."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from tests.corpus.block_kernels import run

KERNELS = Path(__file__).resolve().parents[2] / "corpus/kernels/activation"
POINTS = 4096  # a statement: what catches launches stays before the import of the DSL

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float32, Int32, Int64

from corpus.blocks.activation_math import ACTIVATIONS, activate
from corpus.blocks.row_chunks import chunk_blocks, chunk_place
from corpus.blocks.row_view import row_view

# Beyond what exp, squares and fp32's normal numbers hold; then -12 … 12.
ODD = (0.0, -0.0, np.inf, -np.inf, np.nan, 88.0, -88.0, 100.0, -100.0, 1e20, -1e20, 3e38, -3e38, 1e-38, 1e-20)
# (vectors of a row, rows, lanes, rows of a thread, groups of a block)
PLACES = ((5, 7, 8, 1, 4), (70, 5, 64, 2, 1), (64, 3, 32, 4, 1), (1, 9, 1, 2, 64))


@cute.kernel
def math_kernel(mX: cute.Tensor, mO: cute.Tensor, name: cutlass.Constexpr, exact: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mO[block * 256 + thread] = activate(mX[block * 256 + thread], name, exact)


@cute.jit
def math_launch(x: cute.Pointer, o: cute.Pointer, name: cutlass.Constexpr, exact: cutlass.Constexpr):
    mX, mO = (cute.make_tensor(p, cute.make_layout(POINTS)) for p in (x, o))
    math_kernel(mX, mO, name, exact).launch(grid=(POINTS // 256, 1, 1), block=(256, 1, 1))


@cute.kernel
def place_kernel(
    mSeen: cute.Tensor, lanes: cutlass.Constexpr, each: cutlass.Constexpr, groups: cutlass.Constexpr
):
    vector, first = chunk_place(mSeen.shape[0], lanes, each, groups)
    if vector < mSeen.shape[0]:
        for k in cutlass.range_constexpr(each):
            if first + k < mSeen.shape[1]:
                cute.arch.atomic_add(mSeen.iterator + (first + k) * mSeen.shape[0] + vector, Int32(1))


@cute.jit
def place_launch(
    seen: cute.Pointer, rows: Int32, vectors: cutlass.Constexpr, lanes: cutlass.Constexpr,
    each: cutlass.Constexpr, groups: cutlass.Constexpr,
):  # fmt: skip
    mSeen = cute.make_tensor(seen, cute.make_layout((vectors, rows)))
    place_kernel(mSeen, lanes, each, groups).launch(
        grid=(chunk_blocks(vectors, rows, lanes, each, groups), 1, 1), block=(lanes * groups, 1, 1)
    )


FINISH = importlib.util.spec_from_file_location("finish", KERNELS / "bias_activation_residual/kernel.py")
assert FINISH is not None and FINISH.loader is not None
finish = importlib.util.module_from_spec(FINISH)
sys.modules["finish"] = finish
FINISH.loader.exec_module(finish)


@cute.jit
def in_place_launch(x: cute.Pointer, b: cute.Pointer, r: cute.Pointer, over_x: cutlass.Constexpr):
    """One entry's kernel whose out is its x or its residual: 5 rows of 32, two a thread."""
    mX, mR = (row_view(p, Int32(5), 32, Int64(32), 4) for p in (x, r))
    mO = mX if over_x else mR
    finish.bias_activation_residual_kernel(
        mX, row_view(b, 1, 32, Int64(32), 4), mR, mO, 4, 8, 2, 4, "relu", True
    ).launch(grid=(1, 1, 1), block=(32, 1, 1))


def main() -> None:
    x = np.linspace(-12, 12, POINTS, dtype=np.float32)
    x[: len(ODD)] = ODD
    told: dict[str, Any] = {"odd": len(ODD), "x": x.tolist(), "math": {}, "places": {}}
    for name in ACTIVATIONS:
        for exact in (True, False):
            arrays = [(Float32, x), (Float32, np.zeros_like(x))]
            told["math"][f"{name} {int(exact)}"] = run(math_launch, arrays, name, exact)[1].tolist()
    for vectors, rows, *plan in PLACES:
        seen = np.zeros((rows, vectors), np.int32)
        (seen,) = run(place_launch, [(Int32, seen)], Int32(rows), vectors, *plan)
        told["places"][f"{vectors} {rows} {plan}"] = seen.tolist()
    x, bias, residual = (
        ((np.arange(n) * k) % 17 - 8).astype(np.float32) for n, k in ((160, 5), (32, 3), (160, 7))
    )
    told["finished"] = [a.tolist() for a in (x, bias, residual)]
    for over_x in (True, False):
        arrays = [(Float32, a) for a in (x, bias, residual)]
        told[f"in place {int(over_x)}"] = [a.tolist() for a in run(in_place_launch, arrays, over_x)]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
