"""Reductions over the threads of a row: lanes of a warp first, then warps through shared memory. Traced.

`lanes` threads, a power of two from 1 to 1024, share a row. Up to 32 of them are lanes of one warp. More are
whole warps, each of which leaves one value in shared memory; after one barrier every lane reads one of the
row's values, and a butterfly over as many lanes as the row has warps gives all threads the result.

    sPart     (warps of the block,)     row r owns entries r · warps … (r + 1) · warps - 1, warps = lanes / 32

All threads of the block must arrive. A second reduction needs its own `sPart`: others may still be reading.
Units: those of the values; `sPart` has an element a warp.
Source of the technique: two stages, as in CUDA's samples; the second is every warp's own, which saves a
barrier.
"""

import cutlass
import cutlass.cute as cute

from corpus.blocks.lane_reduce import lane_reduce


@cute.jit
def row_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr, sPart):
    """The result over the `lanes` threads of a row, in all of them. `sPart` is not used up to 32 lanes."""
    value = lane_reduce(value, operation, min(lanes, 32))
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        if lane == 0:
            sPart[warp] = value
        cute.arch.sync_threads()
        value = lane_reduce(sPart[warp // warps * warps + lane % warps], operation, warps)
    return value
