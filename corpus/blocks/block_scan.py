"""Running sums over the threads of a block: each gets the sum of those before it. Traced.

Lanes of a warp first, in five steps that double what is summed, then one value a warp through shared memory:

    thread     0   1   2   3 …            sPart (warps,)     what each warp adds up to
    value      5   1   0   2
    result     0   5   6   6 …            result = sum of the warps before + of the lanes before

All threads of the block must arrive: whole warps, 32 at most. `sPart` is read until the next barrier.
Units: those of the values; `sPart` has an element a warp.
Source of the technique: Hillis and Steele over lanes, then over warps, as in CUDA's samples (shfl_scan).
"""

import cutlass
import cutlass.cute as cute
from cutlass import Int32


@cute.jit
def block_scan(value: Int32, sPart: cute.Tensor, warps: cutlass.Constexpr):
    """The sum of `value` over the threads before this one; `sPart` has room for `warps` numbers."""
    thread, _, _ = cute.arch.thread_idx()
    warp, lane = thread // 32, thread % 32
    total = value
    for step in cutlass.range_constexpr(5):
        before = cute.arch.shuffle_sync_up(total, 1 << step, mask_and_clamp=0)
        if lane >= 1 << step:
            total += before
    if lane == 31:
        sPart[warp] = total
    cute.arch.sync_threads()
    earlier = sPart[lane] if lane < warp else Int32(0)
    return total - value + cute.arch.warp_redux_sync(earlier, "add")
