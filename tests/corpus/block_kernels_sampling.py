"""Kernels around the blocks of sampling, for the emulator: `python -m` this module runs them.

A process of its own, as block_kernels is, whose `run` it uses: that import comes first.
"""

from __future__ import annotations

import json
import operator
from typing import Any

from tests.corpus.block_kernels import run  # isort: split

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float32, Int32, Int64

from corpus.blocks.cluster_reduce import cluster_begin
from corpus.blocks.reduce_together import reduce_together
from corpus.blocks.sum_place import sum_place
from corpus.blocks.weight_threshold import weight_threshold
from corpus.blocks.whole_weight import MOST_WEIGHT, whole_weight

KINDS = Int64, Int32, Int32
ROUNDS = 3
INF, NAN = float("inf"), float("nan")
# (logit, maximum, scale): equal to the maximum, finite or not; NaN; far below; with a temperature of 0.
ODD = [
    (1.5, 1.5, 1.0), (INF, INF, 2.0), (-INF, -INF, 1.0), (NAN, 3.0, 1.0), (NAN, INF, 1.0), (-INF, 3.0, 1.0),
    (3.0, INF, 1.0), (0.0, 31.5, 1.0), (0.0, 30.5, 1.0), (2.0, 2.0, INF), (1.9, 2.0, INF), (1.0, 2.0, 1.0),
]  # fmt: skip


def room(kind: Any, *shape: int) -> Any:
    layout = cute.make_ordered_layout(shape, tuple(reversed(range(len(shape)))))
    return cute.make_tensor(cute.arch.alloc_smem(kind, cute.size(layout), 16), layout)


def two_sets() -> tuple[Any, Any]:
    sParts, sFroms = ([room(kind, 2, n) for kind in KINDS] for n in (32, 8))
    return sParts, sFroms


@cute.kernel
def together_kernel(mX: cute.Tensor, mO: cute.Tensor, lanes: cutlass.Constexpr, blocks: cutlass.Constexpr):
    cluster_begin(blocks)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = block * cute.arch.block_dim()[0] + thread
    sParts, sFroms = two_sets()
    value = mX[at]
    for turn in cutlass.range(ROUNDS, unroll=1):
        values = Int64(value) << 33, value, value
        sNow, sThere = [s[turn % 2, None] for s in sParts], [s[turn % 2, None] for s in sFroms]
        total, least, most = reduce_together(values, (operator.add, min, max), lanes, blocks, sNow, sThere)
        mO[at, turn, 0], mO[at, turn, 1], mO[at, turn, 2] = total, Int64(least), Int64(most)
        value = value * 3 + Int32(total >> 33)
        if turn < ROUNDS - 1:
            cluster_begin(blocks)


@cute.jit
def together_launch(
    x: cute.Pointer, o: cute.Pointer,
    lanes: cutlass.Constexpr, threads: cutlass.Constexpr, blocks: cutlass.Constexpr,
):  # fmt: skip
    mX = cute.make_tensor(x, cute.make_layout(threads * blocks))
    mO = cute.make_tensor(o, cute.make_layout((threads * blocks, ROUNDS, 3), stride=(3 * ROUNDS, 3, 1)))
    together_kernel(mX, mO, lanes, blocks).launch(
        grid=(blocks, 1, 1), block=(threads, 1, 1), cluster=(blocks, 1, 1)
    )


@cute.kernel
def weight_kernel(mX: cute.Tensor, mO: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    mO[thread] = whole_weight(mX[thread, 0], mX[thread, 1], mX[thread, 2])


@cute.jit
def weight_launch(x: cute.Pointer, o: cute.Pointer, count: cutlass.Constexpr):
    mX = cute.make_tensor(x, cute.make_layout((count, 3), stride=(3, 1)))
    weight_kernel(mX, cute.make_tensor(o, cute.make_layout(count))).launch(
        grid=(1, 1, 1), block=(count, 1, 1)
    )


@cute.kernel
def row_kernel(
    mX: cute.Tensor, mNeed: cute.Tensor, mTarget: cute.Tensor, mO: cute.Tensor, blocks: cutlass.Constexpr
):
    cluster_begin(blocks)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    _, _, chunks, threads, width = mX.shape
    row, rank = block // blocks, block % blocks
    sParts, sFroms = two_sets()
    sChunk, sBlock = room(Int64, chunks, threads // 32), room(Int64, 8)
    rW = cute.make_rmem_tensor(cute.make_layout((chunks, width), stride=(width, 1)), Int32)
    total = Int64(0)
    for j in cutlass.range_constexpr(chunks):
        for k in cutlass.range_constexpr(width):
            rW[j, k] = mX[row, rank, j, thread, k]
            total += Int64(rW[j, k])
    sNow, sThere = [sParts[0][0, None]], [sFroms[0][0, None]]
    (total,) = reduce_together((total,), (operator.add,), threads, blocks, sNow, sThere)
    least, kept = weight_threshold(rW, mNeed[row], total, threads, blocks, sParts, sFroms)
    for k in cutlass.range_constexpr(cute.size(rW)):
        rW[k] = cutlass.select_(rW[k] >= least, rW[k], Int32(0))
    place = sum_place(rW, mTarget[row], blocks, sChunk, sBlock)
    if rank == 0 and thread == 0:
        mO[row, 0], mO[row, 1] = Int64(least), kept
    if place >= 0:
        mO[row, 2] = Int64(((rank * chunks + place // width) * threads + thread) * width + place % width)


@cute.jit
def row_launch(
    x: cute.Pointer, need: cute.Pointer, target: cute.Pointer, o: cute.Pointer,
    rows: cutlass.Constexpr, threads: cutlass.Constexpr, blocks: cutlass.Constexpr,
    chunks: cutlass.Constexpr, width: cutlass.Constexpr,
):  # fmt: skip
    shape = rows, blocks, chunks, threads, width
    mX = cute.make_tensor(x, cute.make_ordered_layout(shape, order=(4, 3, 2, 1, 0)))
    mNeed, mTarget = (cute.make_tensor(p, cute.make_layout(rows)) for p in (need, target))
    mO = cute.make_tensor(o, cute.make_layout((rows, 3), stride=(3, 1)))
    row_kernel(mX, mNeed, mTarget, mO, blocks).launch(
        grid=(rows * blocks, 1, 1), block=(threads, 1, 1), cluster=(blocks, 1, 1)
    )


def rows_of_weights(count: int) -> np.ndarray:
    """Rows: far apart, ties of three values, one heavy among zeros, all equal, all zero, and neighbouring
    numbers that floats do not hold."""
    draw = np.random.default_rng(count)
    x = np.zeros((6, count), np.int32)
    x[0] = np.exp2(draw.uniform(-1, 30, count))
    x[1] = draw.choice([5, 1 << 20, 1 << 29], count)
    x[2, count // 3] = MOST_WEIGHT
    x[3] = MOST_WEIGHT
    x[5] = draw.permutation(count) + (1 << 29)
    return x


def main() -> None:
    told: dict[str, Any] = {"together": {}, "weights": [], "rows": {}}
    for lanes, threads, blocks in (
        (8, 32, 1),
        (32, 32, 1),
        (128, 128, 1),
        (64, 128, 1),
        (64, 64, 4),
        (32, 32, 2),
    ):
        x = (np.arange(threads * blocks) * 37 % 101 - 50).astype(np.int32)
        out = np.zeros((threads * blocks, ROUNDS, 3), np.int64)
        out = run(together_launch, [(Int32, x), (Int64, out)], lanes, threads, blocks)[1]
        told["together"][f"{lanes} {threads} {blocks}"] = [x.tolist(), out.tolist()]
    given = np.array(ODD + [(-k / 3, 0.25, 1.3) for k in range(52)], np.float32)
    out = run(weight_launch, [(Float32, given), (Int32, np.zeros(64, np.int32))], 64)[1]
    told["weights"] = [given.tolist(), out.tolist()]
    for threads, blocks, chunks, width in ((32, 1, 1, 4), (128, 1, 3, 2), (64, 2, 2, 1), (32, 8, 1, 2)):
        x = np.repeat(rows_of_weights(threads * blocks * chunks * width), 4, axis=0)
        shares = np.tile([0.0, 0.3, 0.9, 1.0], 6)
        totals = x.sum(1, dtype=np.int64)
        need = np.maximum(1, (totals * shares).astype(np.int64))
        kept = [row[row >= threshold(row, n)].sum(dtype=np.int64) for row, n in zip(x, need, strict=True)]
        target = np.array([min(int(k * (1 - s)), k - 1) for k, s in zip(kept, shares, strict=True)], np.int64)
        arrays = [(Int32, x), (Int64, need), (Int64, target), (Int64, np.full((24, 3), -7, np.int64))]
        out = run(row_launch, arrays, 24, threads, blocks, chunks, width)[3]
        key = f"{threads} {blocks} {chunks} {width}"
        told["rows"][key] = [x.tolist(), need.tolist(), target.tolist(), out.tolist()]
    print(json.dumps(told))


def threshold(row: np.ndarray, need: int) -> int:
    """The largest weight from which on `row` weighs `need`; 1 where it never does."""
    falling = np.sort(row)[::-1]
    enough = np.cumsum(falling, dtype=np.int64) >= need
    return int(falling[np.argmax(enough)]) if enough.any() else 1


if __name__ == "__main__":
    main()
