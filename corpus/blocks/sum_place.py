"""Where a running sum over a row passes a number: the element that a draw by weights hits. Traced.

The weights of a row lie in the registers of a block's threads, chunk by chunk, or of a cluster's, whose
blocks have neighbouring parts. What must not be hit weighs 0. Sums lead from the row to one element:

    block 0 │ block 1: chunk 0 │ chunk 1: warp 0 │ warp 1: lane 0 │ lane 1: 4 0 7 2      target 24
    0       │ 8                │ 13              │ 19             │ 21 ── 21 25 25 32    ← sum before each

Exactly one element of the row has the target between the sum before it and that with it (here 21 ≤ 24 < 25);
only one warp of one chunk looks at its lanes. Sums are whole numbers, which have no order. `rW` is (chunks,
width); whole warps.
"""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Int32, Int64

from corpus.blocks.cluster_reduce import cluster_begin, cluster_share
from corpus.blocks.lane_reduce import lane_reduce
from corpus.blocks.lane_scan import lane_scan
from corpus.blocks.weight_threshold import kept_sum


@cute.jit
def sum_place(rW: cute.Tensor, target, blocks: cutlass.Constexpr, sChunk, sBlock):
    """The place in `rW`, chunk · width + element, in the thread whose element it is; -1 in all others.
    `target` is from 0 to the row's sum - 1; `sChunk` (chunks, warps) and `sBlock` (blocks,) are Int64."""
    thread, _, _ = cute.arch.thread_idx()
    warp, lane, (chunks, width), warps = thread // 32, thread % 32, rW.shape, sChunk.shape[1]
    for j in cutlass.range_constexpr(chunks):
        part = lane_reduce(kept_sum(rW[j, None], 1), operator.add, 32)
        if lane == 0:
            sChunk[j, warp] = part
    cute.arch.sync_threads()
    before, found = Int64(0), Int32(-1)
    if cutlass.const_expr(blocks > 1):
        cluster_begin(blocks)
        own = Int64(0)
        for j in cutlass.range_constexpr(chunks):
            own += lane_reduce(sChunk[j, lane % warps], operator.add, warps)
        cluster_share((own,), blocks, (sBlock,))
        earlier = lane % blocks < cute.arch.block_idx_in_cluster()
        before = lane_reduce(cutlass.select_(earlier, sBlock[lane % blocks], Int64(0)), operator.add, blocks)
    for j in cutlass.range_constexpr(chunks):
        part = sChunk[j, lane % warps]
        earlier = cutlass.select_(lane % warps < warp, part, Int64(0))
        running = before + lane_reduce(earlier, operator.add, warps)
        before += lane_reduce(part, operator.add, warps)
        if running <= target and target < running + sChunk[j, warp]:
            running += lane_scan(kept_sum(rW[j, None], 1), Int64)[0]
            for k in cutlass.range_constexpr(width):
                if running <= target and target < running + Int64(rW[j, k]):
                    found = Int32(j * width + k)
                running += Int64(rW[j, k])
    return found
