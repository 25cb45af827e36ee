"""Kernels around the blocks of sums over blocks, lanes, tiles and threads; `python -m` emulates them."""

from __future__ import annotations

import json
from typing import Any

# First of all: it puts what catches launches in place before the DSL is imported.
from tests.corpus.block_kernels import bf16, run  # isort: skip

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import BFloat16, Float16, Float32, Int32, Uint32, Uint64

from corpus.blocks.add_vector import add_vector
from corpus.blocks.lane_scan import lane_scan
from corpus.blocks.last_block import last_block
from corpus.blocks.look_back import OWN, WHOLE, look_back, publish


@cute.kernel
def last_kernel(mX: cute.Tensor, mO: cute.Tensor, mCount: cute.Tensor, mWord: cute.Tensor):
    """All threads of all blocks leave their square; the last block adds up what was left."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    blocks = mX.shape[0]
    sFound = cute.make_tensor(cute.arch.alloc_smem(Int32, 1, 16), cute.make_layout(1))
    mX[block, thread] = mX[block, thread] * mX[block, thread]
    if last_block(mWord.iterator, blocks, sFound):
        total = Int32(0)
        for b in cutlass.range(blocks):
            total += mX[b, 63 - thread]
        mO[thread] = total
        if thread == 0:
            mCount[0] += 1


@cute.jit
def last_launch(
    x: cute.Pointer, o: cute.Pointer, count: cute.Pointer, word: cute.Pointer, blocks: cutlass.Constexpr
):
    mX = cute.make_tensor(x, cute.make_layout((blocks, 64), stride=(64, 1)))
    mO, mCount, mWord = (
        cute.make_tensor(p, cute.make_layout(n)) for p, n in ((o, 64), (count, 1), (word, 1))
    )
    last_kernel(mX, mO, mCount, mWord).launch(grid=(blocks, 1, 1), block=(64, 1, 1))


@cute.kernel
def scan_kernel(mX: cute.Tensor, mBefore: cute.Tensor, mTotal: cute.Tensor, kind: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    before, total = lane_scan(mX[thread], kind)
    mBefore[thread] = before
    mTotal[thread] = total


@cute.jit
def scan_launch(x: cute.Pointer, before: cute.Pointer, total: cute.Pointer, kind: cutlass.Constexpr):
    tensors = [cute.make_tensor(p, cute.make_layout(64)) for p in (x, before, total)]
    scan_kernel(*tensors, kind).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def known_kernel(mState: cute.Tensor, mO: cute.Tensor, tile: Int32, kind: cutlass.Constexpr):
    """A warp looks back over what is known already."""
    mO[cute.arch.lane_idx()] = look_back(mState, tile, kind)


@cute.jit
def known_launch(state: cute.Pointer, o: cute.Pointer, tile: Int32, kind: cutlass.Constexpr):
    mState, mO = (cute.make_tensor(p, cute.make_layout(n)) for p, n in ((state, 100), (o, 32)))
    known_kernel(mState, mO, tile, kind).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def waiting_kernel(mState: cute.Tensor, mX: cute.Tensor, mO: cute.Tensor):
    """Tiles from the last block to the first: each has to wait for blocks that start later."""
    block, _, _ = cute.arch.block_idx()
    lane, tile = cute.arch.lane_idx(), cute.size(mX) - 1 - block
    if lane == 0:
        publish(mState, tile, mX[tile], OWN)
    before = look_back(mState, tile, Int32)
    if lane == 0:
        publish(mState, tile, before + mX[tile], WHOLE)
        mO[tile] = before


@cute.jit
def waiting_launch(state: cute.Pointer, x: cute.Pointer, o: cute.Pointer, tiles: cutlass.Constexpr):
    mState, mX, mO = (cute.make_tensor(p, cute.make_layout(tiles)) for p in (state, x, o))
    waiting_kernel(mState, mX, mO).launch(grid=(tiles, 1, 1), block=(32, 1, 1))


@cute.kernel
def add_kernel(mX: cute.Tensor, mO: cute.Tensor):
    """Thread t adds its vector to vector t % 5 of those at even places."""
    thread, _, _ = cute.arch.thread_idx()
    rX = cute.make_rmem_tensor(mX.shape[1], mX.element_type)
    for k in cutlass.range_constexpr(mX.shape[1]):
        rX[k] = mX[thread, k]
    add_vector(mO[2 * (thread % 5), None], rX)


@cute.jit
def add_launch(x: cute.Pointer, o: cute.Pointer, width: cutlass.Constexpr):
    mX, mO = (
        cute.make_tensor(p, cute.make_layout((n, width), stride=(width, 1))) for p, n in ((x, 64), (o, 10))
    )
    add_kernel(mX, mO).launch(grid=(1, 1, 1), block=(64, 1, 1))


def words(marks: list[int], values: np.ndarray) -> np.ndarray:
    """States as `publish` writes them."""
    return np.array(marks, np.uint64) << np.uint64(32) | values.view(np.uint32).astype(np.uint64)


def main() -> None:
    told: dict[str, Any] = {"last": {}, "scan": {}, "known": {}, "waiting": {}, "added": {}}
    for blocks in (1, 2, 9):
        x = (np.arange(64 * blocks) % 89).astype(np.int32).reshape(blocks, 64)
        arrays = [(Int32, x), (Int32, np.zeros(64, np.int32)), (Int32, np.zeros(1, np.int32))]
        _, out, count, word = run(last_launch, [*arrays, (Uint32, np.zeros(1, np.uint32))], blocks)
        told["last"][blocks] = [out.tolist(), count.tolist(), word.tolist()]
    endless = (np.arange(64) * 37 % 101).astype(np.float32)
    endless[[9, 40]] = np.inf, -np.inf
    for name, kind, x in (
        ("i32", Int32, (np.arange(64) * 37 % 101 - 50).astype(np.int32)),
        ("f32", Float32, endless),
    ):
        _, before, total = run(scan_launch, [(kind, x), (kind, x * 0), (kind, x * 0)], kind)
        told["scan"][name] = [[str(float(v)) for v in a] for a in (before, total)]
    values = (np.arange(100) * 7 % 31 + 1).astype(np.int32)
    # (tile, tiles before it that know the whole)
    for tile, whole in ((0, ()), (1, (0,)), (5, (0, 4)), (33, (0,)), (40, (3,)), (70, (0, 5)), (99, (98,))):
        marks = [WHOLE if t in whole else OWN for t in range(100)]
        for name, kind, x in (("i32", Int32, values), ("f32", Float32, values.astype(np.float32))):
            out = np.zeros(32, x.dtype)
            out = run(known_launch, [(Uint64, words(marks, x)), (kind, out)], Int32(tile), kind)[1]
            told["known"][f"{name} {tile} {max(whole, default=0)}"] = out.tolist()
    for tiles in (2, 5):
        x = (np.arange(tiles) * 5 + 3).astype(np.int32)
        told["waiting"][tiles] = run(
            waiting_launch, [(Uint64, np.zeros(tiles, np.uint64)), (Int32, x), (Int32, x * 0)], tiles
        )[2].tolist()
    for name, kind, widths in (
        ("f32", Float32, (1, 2, 4)),
        ("f16", Float16, (1, 2, 4, 8)),
        ("bf16", BFloat16, (1, 2, 4, 8)),
    ):
        for width in widths:
            x, out = np.arange(64 * width) % 5, np.arange(10 * width) % 3
            how = {"f32": np.float32, "f16": np.float16}.get(name)
            arrays = [(kind, bf16(a) if how is None else a.astype(how)) for a in (x, out)]
            got = run(add_launch, arrays, width, align=width * kind.width // 8)[1]
            wide = (got.astype(np.uint32) << 16).view(np.float32) if how is None else got
            told["added"][f"{name} {width}"] = [float(v) for v in wide]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
