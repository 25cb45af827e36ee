"""Several reductions of one row at once: over lanes, warps and the blocks of a cluster. Traced.

What a loop decides by more than one number (a sum, a least, a largest) costs one barrier of the block and one
exchange of the cluster, not one for each:

    values   sum, least, largest ─ lanes ─→ one a warp ─ barrier ─→ all warps' ─ cluster_share ─→ all blocks'
    sParts   one tensor a value, (warps of the block,), used above 32 lanes
    sFroms   one tensor a value, (blocks,), used above one block, with a `cluster_begin` before

In a loop use two sets of tensors in turns: while one is read, faster warps may already write the other, and
nobody comes round to the first again before all have met at the second. Whole numbers of 32 bits take one
`redux` in place of five shuffles.
"""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Int32

from corpus.blocks.cluster_reduce import cluster_share
from corpus.blocks.lane_reduce import lane_reduce

REDUX = {operator.add: "add", min: "min", max: "max"}


@cute.jit
def lanes_together(values, operations: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result of each of `values` by its operation over each group of `lanes` lanes, in all of them."""
    results = []
    for value, operation in zip(values, operations, strict=True):
        if cutlass.const_expr(lanes == 32 and type(value) is Int32 and operation in REDUX):
            results.append(cute.arch.warp_redux_sync(value, REDUX[operation]))
        else:
            results.append(lane_reduce(value, operation, lanes))
    return results


@cute.jit
def reduce_together(
    values, operations: cutlass.Constexpr, lanes: cutlass.Constexpr, blocks: cutlass.Constexpr, sParts, sFroms
):
    """The result of each of `values` by its operation over the `lanes` threads of a row in each of `blocks`
    blocks, in all of them."""
    values = lanes_together(values, operations, min(lanes, 32))
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        if lane == 0:
            for value, sPart in zip(values, sParts, strict=True):
                sPart[warp] = value
        cute.arch.sync_threads()
        mine = warp // warps * warps + lane % warps
        values = lanes_together([s[mine] for s in sParts], operations, warps)
    if cutlass.const_expr(blocks > 1):
        cluster_share(values, blocks, sFroms)
        rank = cute.arch.lane_idx() % blocks
        values = lanes_together([s[rank] for s in sFroms], operations, blocks)
    return values
