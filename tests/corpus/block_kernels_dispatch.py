"""Kernels around the blocks of dispatch; `python -m tests.corpus.block_kernels_dispatch` emulates them."""

from __future__ import annotations

import json
from typing import Any

# First of all: it puts what catches launches in place before the DSL is imported.
from tests.corpus.block_kernels import run  # isort: skip

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float16, Int32, Int64, Uint32

from corpus.blocks.block_scan import block_scan
from corpus.blocks.expert_slots import expert_slots, expert_slots_shared
from corpus.blocks.grid_barrier import co_resident, grid_barrier
from corpus.blocks.row_scatter import load_part, write_rows
from corpus.blocks.row_view import row_view


@cute.kernel
def barrier_kernel(mX: cute.Tensor, mO: cute.Tensor, mWord: cute.Tensor, blocks: cutlass.Constexpr):
    """Blocks hand their numbers round twice: everyone must see what its neighbour wrote."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mX[block, thread] = block * 64 + thread
    grid_barrier(mWord.iterator, blocks)
    mO[block, thread] = mX[(block + 1) % blocks, 63 - thread]
    grid_barrier(mWord.iterator + 1, blocks)
    mX[block, thread] = mO[(block + 1) % blocks, 63 - thread]
    grid_barrier(mWord.iterator, blocks)
    mO[block, thread] = mX[(block + 1) % blocks, 63 - thread]


@cute.jit
def barrier_launch(x: cute.Pointer, o: cute.Pointer, word: cute.Pointer, blocks: cutlass.Constexpr):
    mX, mO = (cute.make_tensor(p, cute.make_layout((blocks, 64), stride=(64, 1))) for p in (x, o))
    mWord = cute.make_tensor(word, cute.make_layout(2))
    for _ in range(2):  # the second launch finds the words as the first left them
        barrier_kernel(mX, mO, mWord, blocks).launch(
            grid=(co_resident(blocks, 132), 1, 1), block=(64, 1, 1), cooperative=True
        )


@cute.kernel
def relaxed_kernel(mX: cute.Tensor, mWord: cute.Tensor):
    """The same without the release: what the checks of the emulator are there for."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mX[0, block] = block
    cute.arch.sync_threads()
    if thread == 0:
        cute.arch.inline_ptx("red.relaxed.gpu.global.inc.u32 [{$r0}], 3;", read_only_args=[mWord.iterator])
        while cute.arch.load(mWord.iterator, Int32, sem="acquire", scope="gpu") < 2:
            cute.arch.inline_ptx("nanosleep.u32 32;")
    cute.arch.sync_threads()
    mX[1, block] = mX[0, 1 - block]


@cute.jit
def relaxed_launch(x: cute.Pointer, word: cute.Pointer):
    mX, mWord = cute.make_tensor(x, cute.make_layout((2, 2))), cute.make_tensor(word, cute.make_layout(1))
    relaxed_kernel(mX, mWord).launch(grid=(2, 1, 1), block=(1, 1, 1), cooperative=True)


@cute.kernel
def scan_kernel(mX: cute.Tensor, mO: cute.Tensor, warps: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    sPart = cute.make_tensor(cute.arch.alloc_smem(Int32, warps), cute.make_layout(warps))
    mO[thread] = block_scan(mX[thread], sPart, warps)


@cute.jit
def scan_launch(x: cute.Pointer, o: cute.Pointer, warps: cutlass.Constexpr):
    mX, mO = (cute.make_tensor(p, cute.make_layout(32 * warps)) for p in (x, o))
    scan_kernel(mX, mO, warps).launch(grid=(1, 1, 1), block=(32 * warps, 1, 1))


@cute.kernel
def slots_kernel(
    mIds: cute.Tensor, mCounts: cute.Tensor, mOffsets: cute.Tensor, mSlots: cute.Tensor, choices: Int32,
    first: Int32, local: Int32, experts: cutlass.Constexpr, pad: cutlass.Constexpr, warps: cutlass.Constexpr,
    blocks: cutlass.Constexpr, batch: cutlass.Constexpr,
):  # fmt: skip
    shared, ours = expert_slots_shared(experts, warps), (mCounts, mOffsets, mSlots)
    expert_slots(mIds, *ours, shared, choices, first, local, experts, pad, warps, blocks, batch)


@cute.jit
def slots_launch(
    ids: cute.Pointer, counts: cute.Pointer, offsets: cute.Pointer, slots: cute.Pointer, choices: Int32,
    first: Int32, local: Int32, experts: cutlass.Constexpr, pad: cutlass.Constexpr, warps: cutlass.Constexpr,
    blocks: cutlass.Constexpr, batch: cutlass.Constexpr,
):  # fmt: skip
    mIds, mSlots = (cute.make_tensor(p, cute.make_layout(choices)) for p in (ids, slots))
    mCounts = cute.make_tensor(counts, cute.make_layout(experts))
    mOffsets = cute.make_tensor(offsets, cute.make_layout(experts + 1))
    slots_kernel(
        mIds, mCounts, mOffsets, mSlots, choices, first, local, experts, pad, warps, blocks, batch
    ).launch(grid=(blocks, 1, 1), block=(32 * warps, 1, 1), cluster=(blocks, 1, 1))  # fmt: skip


@cute.kernel
def scatter_kernel(
    mX: cute.Tensor, mO: cute.Tensor, mSlots: cute.Tensor, mCounts: cute.Tensor, mOffsets: cute.Tensor,
    width: cutlass.Constexpr, threads: cutlass.Constexpr, vectors: cutlass.Constexpr,
    top_k: cutlass.Constexpr,
):  # fmt: skip
    token, part, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    loaded = load_part(mX, token, part, width, threads, vectors)
    model = (cute.size(mCounts), top_k, 0, True)
    write_rows(loaded, mO, (mCounts, mOffsets, mSlots), token, blocks, part, blocks, model)


@cute.jit
def scatter_launch(
    x: cute.Pointer, o: cute.Pointer, slots: cute.Pointer, counts: cute.Pointer, offsets: cute.Pointer,
    tokens: cutlass.Constexpr, columns: cutlass.Constexpr, rows: cutlass.Constexpr,
    groups: cutlass.Constexpr, width: cutlass.Constexpr, threads: cutlass.Constexpr,
    vectors: cutlass.Constexpr, top_k: cutlass.Constexpr,
):  # fmt: skip
    mX = row_view(x, tokens, columns, Int64(columns), width)
    mO = row_view(o, rows, columns, Int64(columns), width)
    sizes = ((slots, tokens * top_k), (counts, groups), (offsets, groups + 1))
    mSlots, mCounts, mOffsets = (cute.make_tensor(p, cute.make_layout(n)) for p, n in sizes)
    span = threads * width * vectors
    scatter_kernel(mX, mO, mSlots, mCounts, mOffsets, width, threads, vectors, top_k).launch(
        grid=(tokens, (columns + span - 1) // span, 1), block=(threads, 1, 1)
    )


def main() -> None:
    told: dict[str, Any] = {"barrier": {}, "scan": {}, "slots": {}, "scatter": {}}
    for blocks in (1, 2, 7):
        x = np.zeros((blocks, 64), np.int32)
        word = np.zeros(2, np.uint32)
        _, out, word = run(barrier_launch, [(Int32, x), (Int32, x), (Uint32, word)], blocks)
        told["barrier"][blocks] = [out.tolist(), word.tolist()]
    try:
        run(relaxed_launch, [(Int32, np.zeros(4, np.int32)), (Uint32, np.zeros(1, np.uint32))])
    except RuntimeError as e:
        told["relaxed"] = next((c for c in ("CP8012",) if c in str(e)), str(e))
    for warps in (1, 3, 32):
        x = (np.arange(32 * warps) * 37 % 101).astype(np.int32)
        told["scan"][warps] = run(scan_launch, [(Int32, x), (Int32, x * 0)], warps)[1].tolist()
    rng = np.random.default_rng(1)
    for choices, first, local, experts, pad, warps, blocks, batch in (
        (1, 0, 4, 4, 1, 1, 1, 1), (64, 0, 8, 8, 1, 2, 1, 1), (77, 2, 5, 8, 4, 2, 1, 1),
        (500, 0, 70, 70, 16, 2, 1, 2), (300, 3, 6, 9, 8, 2, 2, 1), (1000, 0, 40, 40, 128, 1, 8, 4),
        (40, 1, 2, 3, 2, 2, 4, 4),
    ):  # fmt: skip
        ids = rng.integers(-1, experts + 2, choices).astype(np.int32)
        arrays = [(Int32, a) for a in (ids, *(np.full(n, -7, np.int32) for n in (experts, experts + 1)), ids)]
        facts = (Int32(choices), Int32(first), Int32(local), experts, pad, warps, blocks, batch)
        _, *got = run(slots_launch, arrays, *facts)
        key = " ".join(str(int(getattr(f, "value", f))) for f in facts)
        told["slots"][key] = [ids.tolist(), *(g.tolist() for g in got)]
    for columns, width, threads, vectors in (
        (40, 8, 32, 1),
        (150, 1, 32, 2),
        (1000, 8, 32, 1),
        (24, 4, 64, 1),
    ):
        x = np.arange(3 * columns).reshape(3, columns).astype(np.float16)
        slots = np.array([0, 24, 25, -1, -1, 1], np.int32)  # of 3 tokens, 2 each
        counts, offsets = np.array([2, 0, 2], np.int32), np.array([0, 20, 24, 30], np.int32)
        arrays = [(Float16, x), (Float16, np.full((32, columns), -1, np.float16))]
        arrays += [(Int32, a) for a in (slots, counts, offsets)]
        facts = (3, columns, 32, 3, width, threads, vectors, 2)
        told["scatter"][columns] = run(scatter_launch, arrays, *facts, align=2 * width)[1].tolist()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
