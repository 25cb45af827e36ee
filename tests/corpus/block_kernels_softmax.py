"""Kernels around the blocks of the family softmax, for the emulator: `python -m` this module runs them.

A process of its own, as block_kernels is, whose `run` it uses: that import comes first.
"""

from __future__ import annotations

import json
from typing import Any

from tests.corpus.block_kernels import run  # isort: split

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float16, Float32, Int32, Int64

from corpus.blocks.cluster_reduce import cluster_begin, cluster_reduce
from corpus.blocks.lane_rank import lane_insert, lane_sort, row_merge
from corpus.blocks.ranked import higher, ranked, ranked_column, ranked_value
from corpus.blocks.row_best import best_more, best_place
from corpus.blocks.row_chunks import load_chunks, row_steps, store_chunks
from corpus.blocks.row_tiles import row_tiles
from corpus.blocks.row_view import row_view
from corpus.blocks.softmax_reduce import softmax_more, softmax_reduce

INF, NAN = float("inf"), float("nan")
# What floats are ordered by: NaN of both signs first, then from +∞ down, equal zeros by their place.
ODD = [1.5, NAN, -0.0, 0.0, INF, -INF, -NAN, 1e-41, -1e-41, 3e38, -3e38, 2.0, 1.5, -2.0, 0.0, NAN]


@cute.kernel
def cluster_kernel(mX: cute.Tensor, mO: cute.Tensor, kind: cutlass.Constexpr, blocks: cutlass.Constexpr):
    cluster_begin(blocks)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    sFirst, sSecond = (
        cute.make_tensor(cute.arch.alloc_smem(kind, 8, 16), cute.make_layout(8)) for _ in range(2)
    )
    first = cluster_reduce(mX[block], higher, blocks, sFirst)
    cluster_begin(blocks)
    mO[block * 32 + thread] = first + cluster_reduce(mX[block], added, blocks, sSecond)


@cute.jit
def added(a, b):
    return a + b


@cute.jit
def cluster_launch(x: cute.Pointer, o: cute.Pointer, kind: cutlass.Constexpr, blocks: cutlass.Constexpr):
    mX, mO = cute.make_tensor(x, cute.make_layout(16)), cute.make_tensor(o, cute.make_layout(512))
    cluster_kernel(mX, mO, kind, blocks).launch(grid=(16, 1, 1), block=(32, 1, 1), cluster=(blocks, 1, 1))


@cute.kernel
def softmax_kernel(mX: cute.Tensor, mO: cute.Tensor, lanes: cutlass.Constexpr, blocks: cutlass.Constexpr):
    cluster_begin(blocks)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = block // blocks * (lanes * blocks) + block % blocks * lanes + thread
    sPart = cute.make_tensor(cute.arch.alloc_smem(Float32, 64, 16), cute.make_layout((2, 32), stride=(32, 1)))
    sFrom = cute.make_tensor(cute.arch.alloc_smem(Float32, 16, 16), cute.make_layout((2, 8), stride=(8, 1)))
    rX = cute.make_rmem_tensor(2, Float32)
    rX[0], rX[1] = mX[at, 0], mX[at, 1]
    most, total = softmax_more(rX.load(), -Float32.inf, Float32(0.0))
    rX[0], rX[1] = mX[at, 2], mX[at, 3]
    most, total = softmax_more(rX.load(), most, total)
    mO[at, 0], mO[at, 1] = softmax_reduce(most, total, lanes, blocks, sPart, sFrom)


@cute.jit
def softmax_launch(x: cute.Pointer, o: cute.Pointer, lanes: cutlass.Constexpr, blocks: cutlass.Constexpr):
    count = 2 * lanes * blocks
    mX = cute.make_tensor(x, cute.make_layout((count, 4), stride=(4, 1)))
    mO = cute.make_tensor(o, cute.make_layout((count, 2), stride=(2, 1)))
    softmax_kernel(mX, mO, lanes, blocks).launch(
        grid=(2 * blocks, 1, 1), block=(lanes, 1, 1), cluster=(blocks, 1, 1)
    )


@cute.kernel
def ranked_kernel(mX: cute.Tensor, mN: cute.Tensor, mV: cute.Tensor, mC: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    number = ranked(mX[thread], thread)
    mN[thread], mV[thread], mC[thread] = number, ranked_value(number), ranked_column(number)


@cute.jit
def ranked_launch(x: cute.Pointer, n: cute.Pointer, v: cute.Pointer, c: cute.Pointer):
    mX, mN, mV, mC = (cute.make_tensor(p, cute.make_layout(16)) for p in (x, n, v, c))
    ranked_kernel(mX, mN, mV, mC).launch(grid=(1, 1, 1), block=(16, 1, 1))


@cute.kernel
def rank_kernel(mX: cute.Tensor, mO: cute.Tensor, lanes: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warps = cute.size(mX) // 32
    lists = cute.make_layout((warps, 32), stride=(32, 1))
    sLists = cute.make_tensor(cute.arch.alloc_smem(Int64, warps * 32, 16), lists)
    value = lane_sort(mX[thread])
    value = lane_insert(value, Int64(50))  # a number of each warp's own, in the middle
    mO[thread] = row_merge(value, lanes, sLists)


@cute.jit
def rank_launch(x: cute.Pointer, o: cute.Pointer, lanes: cutlass.Constexpr, threads: cutlass.Constexpr):
    mX, mO = (cute.make_tensor(p, cute.make_layout(threads)) for p in (x, o))
    rank_kernel(mX, mO, lanes).launch(grid=(1, 1, 1), block=(threads, 1, 1))


@cute.kernel
def chunks_kernel(
    mX: cute.Tensor,
    mO: cute.Tensor,
    mB: cute.Tensor,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    share: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    columns = mX.shape[1]
    copy, tile = row_tiles(mX.element_type, columns, width, lanes)
    mine = copy.get_slice(thread)
    gX, gO = cute.local_tile(mX, tile, (0, 0)), cute.local_tile(mO, tile, (0, 0))
    cX = cute.local_tile(cute.make_identity_tensor((1, columns)), tile, (0, 0))
    tXgX, tXgO, tXcX = mine.partition_S(gX), mine.partition_D(gO), mine.partition_S(cX)
    certain, steps, rest = row_steps(columns, lanes * width, share)
    tXrX = cute.make_rmem_tensor((tXgX.shape[0], 1, share), mX.element_type)
    tXrR = cute.make_rmem_tensor((tXgX.shape[0], 1, rest), mX.element_type)
    rK = cute.make_rmem_tensor(width, mX.element_type)
    tXrR.fill(-mX.element_type.inf)
    rK.fill(-mX.element_type.inf)
    top, at = -Float32.inf, tXcX[(0, 0), 0, 0][1]
    for step in cutlass.range(steps, unroll=1):
        load_chunks(copy, tXgX, tXcX, tXrX, step * share, columns, share)
        store_chunks(copy, tXrX, tXgO, tXcX, step * share, columns, share)
        top, at = best_more(tXrX, tXcX, step * share, top, at, rK)
    load_chunks(copy, tXgX, tXcX, tXrR, steps * share, columns, certain - steps * share)
    store_chunks(copy, tXrR, tXgO, tXcX, steps * share, columns, certain - steps * share)
    top, at = best_more(tXrR, tXcX, steps * share, top, at, rK)
    mB[thread] = best_place(top, at, rK)


@cute.jit
def chunks_launch(
    x: cute.Pointer, o: cute.Pointer, best: cute.Pointer,
    columns: cutlass.Constexpr, width: cutlass.Constexpr, lanes: cutlass.Constexpr, share: cutlass.Constexpr,
):  # fmt: skip
    mX, mO = (row_view(p, 1, columns, Int64(columns), width) for p in (x, o))
    mB = cute.make_tensor(best, cute.make_layout(lanes))
    chunks_kernel(mX, mO, mB, width, lanes, share).launch(grid=(1, 1, 1), block=(lanes, 1, 1))


def main() -> None:
    told: dict[str, Any] = {"clusters": {}, "softmax": {}, "ranks": {}, "chunks": {}}
    values = (np.arange(16) * 37 % 23).astype(np.int64)
    for kind, x in ((Int64, values << 33), (Int32, values.astype(np.int32))):
        for blocks in (1, 2, 4, 8):
            out = run(cluster_launch, [(kind, x), (kind, np.zeros(512, x.dtype))], kind, blocks)[1]
            told["clusters"][f"{kind.__name__} {blocks}"] = out.tolist()
    draw = np.random.default_rng(3)
    for lanes, blocks in ((4, 1), (32, 1), (128, 1), (32, 4), (64, 2)):
        x = draw.standard_normal((2 * lanes * blocks, 4)).astype(np.float32) * 4
        x[: lanes // 2] = -INF  # threads without anything that counts
        out = run(
            softmax_launch, [(Float32, x), (Float32, np.zeros((len(x), 2), np.float32))], lanes, blocks
        )[1]
        told["softmax"][f"{lanes} {blocks}"] = [x.tolist(), out.tolist()]
    odd = np.array(ODD, np.float32)
    kinds = [(Int64, np.int64), (Float32, np.float32), (Int32, np.int32)]
    _, *out = run(ranked_launch, [(Float32, odd), *((k, np.zeros(16, t)) for k, t in kinds)])
    told["ranked"] = [o.tolist() for o in out]
    for lanes, threads in ((32, 64), (64, 128), (128, 128)):
        x = draw.permutation(threads).astype(np.int64) * 3
        out = run(rank_launch, [(Int64, x), (Int64, x * 0)], lanes, threads)[1]
        told["ranks"][f"{lanes} {threads}"] = [x.tolist(), out.tolist()]
    for columns, width, lanes, share in ((64, 4, 4, 4), (100, 4, 4, 2), (61, 1, 8, 3), (8, 8, 4, 2)):
        x = draw.integers(-4, 5, columns).astype(np.float16)
        if columns == 61:
            x[[20, 41]] = NAN
        arrays = [(Float16, x), (Float16, np.zeros_like(x)), (Int64, np.zeros(lanes, np.int64))]
        _, out, best = run(chunks_launch, arrays, columns, width, lanes, share)
        told["chunks"][f"{columns} {width} {lanes} {share}"] = [x.tolist(), out.tolist(), best.tolist()]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
