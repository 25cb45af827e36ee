"""The 32 largest numbers in order, one a lane of a warp, the largest in lane 0; integers. Traced.

    lane_sort     32 numbers, one a lane → in order          bitonic, 15 steps of a shuffle and a choice
    lane_merge    two such lists → the 32 largest of both    max(a[lane], b[31 - lane]), then 5 steps
    lane_insert   a list and one number → the 32 largest     max(own, min(the left lane's, number))
    row_merge     the lists of a row's warps → one           a tree through shared memory, a barrier a level

    warps   0 1 2 3     2 and 3 leave theirs, 0 and 1 merge; then 1 leaves its, 0 merges, and all read

All 32 lanes must arrive, at `row_merge` all threads of the block.
Units: places, from 0, in a list over lanes.
Source of the technique: Batcher's bitonic sort; warp select of Faiss.
"""

import cutlass
import cutlass.cute as cute


@cute.jit
def lane_order(value, size: cutlass.Constexpr, span: cutlass.Constexpr):
    """Bitonic steps with lanes `span`, span / 2 … 1 away; runs of `size` lanes fall and rise in turns."""
    lane = cute.arch.lane_idx()
    for step in cutlass.range_constexpr(span.bit_length()):
        away = span >> step
        other = cute.arch.shuffle_sync_bfly(value, away)
        falls = ((lane & size) == 0) == ((lane & away) == 0)
        value = cutlass.select_(falls, max(value, other), min(value, other))
    return value


@cute.jit
def lane_sort(value):
    """The warp's 32 numbers in falling order."""
    for power in cutlass.range_constexpr(1, 6):
        value = lane_order(value, 1 << power, 1 << (power - 1))
    return value


@cute.jit
def lane_merge(value, reversed_other):
    """The 32 largest of two lists in falling order, the second given from its end."""
    return lane_order(max(value, reversed_other), 32, 16)


@cute.jit
def lane_insert(value, number):
    """The 32 largest of a list in falling order and `number`, equal in all lanes."""
    left = cute.arch.shuffle_sync_up(value, 1, mask_and_clamp=0)
    left = cutlass.select_(cute.arch.lane_idx() == 0, number, left)
    return max(value, min(left, number))


@cute.jit
def row_merge(value, lanes: cutlass.Constexpr, sLists):
    """The 32 largest of the lists of a row's lanes / 32 warps, in all of them. `sLists` (warps of the block,
    32) is used above 32 lanes."""
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        for level in cutlass.range_constexpr(warps.bit_length() - 1):
            half = warps >> (level + 1)
            if (warp % warps >= half) & (warp % warps < 2 * half):
                sLists[warp, lane] = value
            cute.arch.sync_threads()
            if warp % warps < half:
                value = lane_merge(value, sLists[warp + half, 31 - lane])
        if warp % warps == 0:
            sLists[warp, lane] = value
        cute.arch.sync_threads()
        value = sLists[warp // warps * warps, lane]
    return value
