"""The largest magnitude of a row, over its threads: one instruction a warp, then shared memory. Traced.

Bits of non-negative floats order as integers do, so that `redux.sync.max.s32` finds the largest of a warp's
32 in one instruction (sm_80 and later) where a butterfly takes ten. A NaN's bits lie above infinity's: it
wins, and the row's result is NaN, as torch's is.

    rX of a thread ─ tree of |x| → bits of one ─ redux ─→ sPart (warps,) ─ barrier ─ redux → all threads

Groups of 4 to 16 lanes use a butterfly, since a `redux` for each would run one after the other. `least` is
what the result is at least: what is divided by it stays finite. All threads of the block must arrive; a
second reduction needs its own `sPart`.
Units: those of the row.
Source of the technique: the PTX manual, redux.sync; float bits as integers, as radix sorts take them.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32

from corpus.blocks.lane_reduce import lane_reduce


def larger(a, b):
    """The larger of two integers."""
    return cutlass.max(a, b)


@cute.jit
def row_absmax(values, least: cutlass.Constexpr, lanes: cutlass.Constexpr, sPart):
    """Largest |x| of the fp32 vectors `values` of the `lanes` threads of a row, no less than `least`, in all
    of them. `sPart` holds a warp's Int32 each; it is not used up to 32 lanes."""
    most = Float32(cute.math.abs(values).reduce(cute.ReductionOp.MAX, least, 0)).bitcast(Int32)
    if cutlass.const_expr(lanes < 32):
        most = lane_reduce(most, larger, lanes)
    else:
        most = Int32(cute.arch.warp_redux_sync(most, "max"))
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        if lane == 0:
            sPart[warp] = most
        cute.arch.sync_threads()
        most = Int32(cute.arch.warp_redux_sync(sPart[warp // warps * warps + lane % warps], "max"))
    return most.bitcast(Float32)
