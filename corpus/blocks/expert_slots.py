"""Which row of the experts' buffer each choice of a token gets: counts, offsets, slots. Traced.

A choice is an expert that a token was sent to; choice token · top_k + k, in the order of the tokens. Each
expert owns rows from a multiple of `pad` on, and its choices take them in order: the same ids always give the
same slots. One block does it, or the blocks of one cluster; each warp goes twice through choices of its own:

    ids      ─ per warp ─→  sCount (warps, experts + 1)     last column: not local, never placed
    sCount   ─ down a column ─→  what warps before counted; a cluster adds the blocks before (sTotal)
    totals   ─ rounded up to pad, block_scan ─→  offsets, sBase
    ids      ─ per warp again ─→  slot = sBase[expert] + sCount[warp, expert] + lanes before of that expert

Lanes that chose one expert find each other by `match`; the first of them counts for all, so that a warp needs
no atomics and keeps the order. Ids outside [first, first + local) belong to other ranks, or to nobody: they
count for nothing and their slot is -1. Results may go to shared or to global memory.
Units: choices, and rows of the buffer.
Source of the technique: ranks by match.any, as in radix sorts (Onesweep).
"""

import cutlass
import cutlass.cute as cute
from cutlass import Int32, Uint32

from corpus.blocks.block_scan import block_scan


def expert_slots_shared(experts: int, warps: int):
    """Shared memory for `expert_slots`: 4 · (warps · (experts + 1) + 2 · experts + 32) bytes."""
    columns = cute.make_layout((warps, experts + 1), stride=(experts + 1, 1))
    layouts = (columns, *(cute.make_layout(n) for n in (experts, experts, 32)))
    return tuple(cute.make_tensor(cute.arch.alloc_smem(Int32, cute.size(at), 16), at) for at in layouts)


@cute.jit
def load_choices(mIds: cute.Tensor, rIds: cute.Tensor, place, choices):
    """Every 32nd id from `place` on into `rIds`; beyond the last one, the last again: loads without branches
    are under way together."""
    for k in cutlass.range_constexpr(cute.size(rIds)):
        rIds[k] = mIds[min(place + 32 * k, choices - 1)]


@cute.jit
def number_choices(
    mIds: cute.Tensor, mSlots: cute.Tensor, sMine: cute.Tensor, sBase: cute.Tensor, rIds: cute.Tensor,
    start, stop, choices, first, local, experts: cutlass.Constexpr, places: cutlass.Constexpr,
):  # fmt: skip
    """A warp counts its choices [start, stop) in `sMine`, (experts + 1,), and says their slots if it `places`
    them. `rIds` has the lane's first ids; the next ones are under way meanwhile."""
    batch = cute.size(rIds)
    place = start + cute.arch.lane_idx()
    for _ in cutlass.range((stop - start + 32 * batch - 1) >> (32 * batch).bit_length() - 1, unroll=1):
        ids = [rIds[k] for k in range(batch)]
        load_choices(mIds, rIds, place + 32 * batch, choices)
        for k in cutlass.range_constexpr(batch):
            expert = Int32(experts)
            if place < stop and Uint32(ids[k] - first) < Uint32(local):
                expert = ids[k]
            same = cute.arch.match_sync(0xFFFFFFFF, expert)
            before = Int32(cute.arch.popc(same & cute.arch.lanemask_lt()))
            earlier = sMine[expert]
            cute.arch.sync_warp()
            if before == 0:
                sMine[expert] = earlier + Int32(cute.arch.popc(same))
            cute.arch.sync_warp()
            if cutlass.const_expr(places):
                slot = sBase[expert] + earlier + before if expert < experts else Int32(-1)
                if place < stop:
                    mSlots[place] = slot
            place += 32


@cute.jit
def expert_slots(
    mIds: cute.Tensor, mCounts: cute.Tensor, mOffsets: cute.Tensor, mSlots: cute.Tensor, shared, choices,
    first, local, experts: cutlass.Constexpr, pad: cutlass.Constexpr, warps: cutlass.Constexpr,
    blocks: cutlass.Constexpr, batch: cutlass.Constexpr,
):  # fmt: skip
    """Fill mCounts (experts,), mOffsets (experts + 1,) and mSlots (choices,), Int32, from mIds (choices,).
    `shared` is what `expert_slots_shared` gave; `blocks` is the size of the cluster, 1 for none; a warp loads
    32 · `batch` ids at a time. These three and `warps` are powers of two. All threads must arrive, and others
    see the results after a barrier. There is a choice at least, and first + local ≤ experts."""
    sCount, sTotal, sBase, sPart = shared
    threads = 32 * warps
    share = (experts + threads - 1) // threads
    thread, _, _ = cute.arch.thread_idx()
    warp, rank = thread // 32, Int32(0)
    if cutlass.const_expr(blocks > 1):
        rank = Int32(cute.arch.block_idx_in_cluster())
    part = (choices + 32 * blocks * warps - 1) >> (32 * blocks * warps).bit_length() - 1 << 5
    start = min((rank * warps + warp) * part, choices)
    stop = min(start + part, choices)
    rIds = cute.make_rmem_tensor(batch, Int32)
    load_choices(mIds, rIds, start + cute.arch.lane_idx(), choices)

    for j in cutlass.range_constexpr((warps * (experts + 1) + threads - 1) // threads):
        if thread + j * threads < warps * (experts + 1):
            sCount[(thread + j * threads) // (experts + 1), (thread + j * threads) % (experts + 1)] = 0
    cute.arch.sync_threads()
    sMine = sCount[warp, None]
    number_choices(mIds, mSlots, sMine, sBase, rIds, start, stop, choices, first, local, experts, False)
    load_choices(mIds, rIds, start + cute.arch.lane_idx(), choices)
    cute.arch.sync_threads()

    rTotal, rBefore = cute.make_rmem_tensor(share, Int32), cute.make_rmem_tensor(share, Int32)
    for j in cutlass.range_constexpr(share):
        expert = thread * share + j
        rTotal[j], rBefore[j] = 0, 0
        if expert < experts:
            total = Int32(0)
            for w in cutlass.range_constexpr(warps):
                counted = sCount[w, expert]
                sCount[w, expert] = total
                total += counted
            rTotal[j] = total
            sTotal[expert] = total
    if cutlass.const_expr(blocks > 1):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
        for j in cutlass.range_constexpr(share):
            expert = thread * share + j
            if expert < experts:
                rTotal[j] = 0
                for b in cutlass.range_constexpr(blocks):
                    theirs = cute.arch.map_dsmem_ptr(sTotal.iterator, b)[expert]
                    rTotal[j] += theirs
                    if rank > b:
                        rBefore[j] += theirs
        cute.arch.cluster_arrive()

    mine = Int32(0)
    for j in cutlass.range_constexpr(share):
        mine += (rTotal[j] + pad - 1) // pad * pad
    offset = block_scan(mine, sPart, warps)
    for j in cutlass.range_constexpr(share):
        expert = thread * share + j
        if expert < experts:
            sBase[expert] = offset + rBefore[j]
            following = offset + (rTotal[j] + pad - 1) // pad * pad
            if rank == 0:
                mCounts[expert] = rTotal[j]
                mOffsets[expert] = offset
                if expert == experts - 1:
                    mOffsets[experts] = following
            offset = following
    cute.arch.sync_threads()
    number_choices(mIds, mSlots, sMine, sBase, rIds, start, stop, choices, first, local, experts, True)
    if cutlass.const_expr(blocks > 1):
        cute.arch.cluster_wait()  # nobody may end while others read its totals
