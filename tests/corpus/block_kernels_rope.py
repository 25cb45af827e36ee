"""Kernels around the blocks of rotary embeddings and paged caches, for the emulator; results as JSON."""

from __future__ import annotations

import json
from typing import Any

from tests.corpus.block_kernels import run

HEADS = 6  # a statement: what catches launches stays before the import of the DSL

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float32, Int32, Int64

from corpus.blocks.head_groups import group_count, group_place
from corpus.blocks.lane_chunks import lane_copy, lane_fragment
from corpus.blocks.paged_cache import cache_view, store_cached
from corpus.blocks.rotary_pairs import pair_view, rotated

# (rotary, width, interleaved)
PAIRS = ((8, 4, False), (8, 4, True), (12, 2, False), (12, 2, True), (6, 1, False), (6, 1, True))
# (tokens, vectors, each, heads of Q, heads of K, threads of a block)
PLACES = ((3, 4, 1, 5, 2, 32), (5, 3, 4, 6, 1, 64), (2, 21, 2, 3, 3, 32))
# (heads, dim, width, block size, gap between blocks, heads first)
CACHES = ((2, 8, 4, 3, 0, False), (2, 8, 4, 3, 8, True), (3, 4, 1, 4, 2, False), (3, 4, 1, 4, 2, True))
BLOCKS, HEAD = 5, 16
# (vectors of two parts of two elements, lanes that share them)
CHUNKS = ((6, 4), (8, 4), (3, 4), (1, 1))


@cute.kernel
def rotate_kernel(mX: cute.Tensor, mT: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    head, _, _ = cute.arch.block_idx()
    if thread < mX.shape[2]:
        gX = mX[None, None, thread, head]
        rX = cute.make_fragment_like(gX)
        cute.autovec_copy(gX, rX)
        x, y = rotated(rX[None, 0].load(), rX[None, 1].load(), mT[None, None, thread, 0])
        rX[None, 0].store(x)
        rX[None, 1].store(y)
        cute.autovec_copy(rX, gX)


@cute.jit
def rotate_launch(
    x: cute.Pointer, t: cute.Pointer, rotary: cutlass.Constexpr, width: cutlass.Constexpr,
    interleaved: cutlass.Constexpr,
):  # fmt: skip
    mX = pair_view(x, rotary, width, interleaved, (HEADS,), (HEAD,))
    mT = pair_view(t, rotary, width, False, (1,), (rotary,))
    rotate_kernel(mX, mT).launch(grid=(HEADS, 1, 1), block=(32, 1, 1))


@cute.kernel
def place_kernel(mSeen: cute.Tensor, threads: cutlass.Constexpr):
    vectors, groups, tokens = mSeen.shape
    token, group, vector = group_place(vectors, groups, threads)
    if token < tokens:
        at = cute.crd2idx((vector, group, token), mSeen.layout)
        cute.arch.atomic_add(mSeen.iterator + at, Int32(1))


@cute.jit
def place_launch(
    seen: cute.Pointer, tokens: Int32, vectors: cutlass.Constexpr, groups: cutlass.Constexpr,
    threads: cutlass.Constexpr,
):  # fmt: skip
    mSeen = cute.make_tensor(seen, cute.make_layout((vectors, groups, tokens)))
    blocks = (tokens * (vectors * groups) + threads - 1) // threads
    place_kernel(mSeen, threads).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


@cute.kernel
def cache_kernel(mC: cute.Tensor):
    """Row `slot` gets slot · 1000 + its own elements' numbers."""
    thread, _, _ = cute.arch.thread_idx()
    slot, _, _ = cute.arch.block_idx()
    width = mC.shape[0]
    if thread < cute.size(mC, mode=[1]):
        rX = cute.make_rmem_tensor((width,), Float32)
        for i in cutlass.range_constexpr(width):
            rX[i] = Float32(slot * 1000 + thread * width + i)
        store_cached(rX, mC, thread, Int64(slot), Float32(1.0))


@cute.jit
def cache_launch(
    c: cute.Pointer, stride: Int64, heads: cutlass.Constexpr, dim: cutlass.Constexpr,
    width: cutlass.Constexpr, block_size: cutlass.Constexpr, heads_first: cutlass.Constexpr,
):  # fmt: skip
    mC = cache_view(c, heads, dim, block_size, Int32(BLOCKS), stride, width, heads_first)
    cache_kernel(mC).launch(grid=(BLOCKS * block_size, 1, 1), block=(32, 1, 1))


@cute.kernel
def chunk_kernel(mX: cute.Tensor, mO: cute.Tensor, mCount: cute.Tensor, lanes: cutlass.Constexpr):
    """Out gets ten times x; each lane tells how many numbers it has in registers that are not zero."""
    lane, _, _ = cute.arch.thread_idx()
    n = mX.shape[2]
    rX = lane_fragment(mX, n, lanes)
    lane_copy(mX, rX, lane, n, lanes, True)
    found = Int32(0)
    for i in cutlass.range_constexpr(cute.size(rX)):
        if rX[i] != 0.0:
            found += 1
    mCount[lane] = found
    rX.store(rX.load() * 10.0)
    lane_copy(mO, rX, lane, n, lanes, False)


@cute.jit
def chunk_launch(
    x: cute.Pointer, o: cute.Pointer, count: cute.Pointer, n: cutlass.Constexpr, lanes: cutlass.Constexpr
):  # fmt: skip
    # (element, part, vector): parts lie 2 · n elements apart
    layout = cute.make_layout((2, 2, n), stride=(1, 2 * n, 2))
    mX, mO = (cute.make_tensor(p, layout) for p in (x, o))
    mCount = cute.make_tensor(count, cute.make_layout(lanes))
    chunk_kernel(mX, mO, mCount, lanes).launch(grid=(1, 1, 1), block=(lanes, 1, 1))


def main() -> None:
    told: dict[str, Any] = {"rotated": {}, "places": {}, "caches": {}, "chunks": {}}
    for n, lanes in CHUNKS:
        data = np.arange(1, 4 * n + 1, dtype=np.float32)
        given = [
            (Float32, data),
            (Float32, np.zeros(4 * n + 4, np.float32)),
            (Int32, np.zeros(lanes, np.int32)),
        ]
        _, out, count = run(chunk_launch, given, n, lanes)
        told["chunks"][f"{n} {lanes}"] = [out.tolist(), count.tolist()]
    x = (np.arange(HEADS * HEAD) % 13 - 6).astype(np.float32)
    for rotary, *how in PAIRS:
        table = ((np.arange(rotary) * 3) % 7 - 3).astype(np.float32)
        got, _ = run(rotate_launch, [(Float32, x), (Float32, table)], rotary, *how)
        told["rotated"][json.dumps([rotary, *how])] = [table.tolist(), got.tolist()]
    told["x"] = x.tolist()
    for tokens, vectors, each, q_heads, k_heads, threads in PLACES:
        groups = group_count(each, q_heads, k_heads)
        seen = np.zeros(tokens * groups * vectors, np.int32)
        (seen,) = run(place_launch, [(Int32, seen)], Int32(tokens), vectors, groups, threads)
        told["places"][f"{tokens} {groups} {vectors}"] = seen.tolist()
    for heads, dim, width, block_size, gap, heads_first in CACHES:
        stride = block_size * heads * dim + gap
        cache = np.full(BLOCKS * stride, -1, np.float32)
        (cache,) = run(
            cache_launch, [(Float32, cache)], Int64(stride), heads, dim, width, block_size, heads_first
        )
        key = json.dumps([heads, dim, block_size, gap, heads_first])
        told["caches"][key] = cache.tolist()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
