"""Running sums over the lanes of a warp, of any type. Traced.

In five steps what a lane has summed doubles; then each takes what the lane before it has:

    lane       0   1   2   3 …      sums up to and with the lane     5   6   6   8 …
    value      5   1   0   2        before                           0   5   6   6 …      total in all lanes

Nothing is subtracted, so that an infinity stays one and no digits get lost. All 32 lanes must arrive.
Units: those of the values; lanes.
Source of the technique: Hillis and Steele, as in CUDA's samples (shfl_scan).
"""

import cutlass
import cutlass.cute as cute


@cute.jit
def lane_scan(value, kind: cutlass.Constexpr):
    """`value` is of type `kind`: (sum of the lanes before this one, sum of all)."""
    lane = cute.arch.lane_idx()
    for step in cutlass.range_constexpr(5):
        earlier = cute.arch.shuffle_sync_up(value, 1 << step, mask_and_clamp=0)
        value = cutlass.select_(lane >= 1 << step, value + earlier, value)
    before = cute.arch.shuffle_sync_up(value, 1, mask_and_clamp=0)
    return cutlass.select_(lane == 0, kind(0), before), cute.arch.shuffle_sync(value, 31)
