"""Which lanes of a warp are here, and one addition to a counter for all of them. Traced.

    lanes       0 1 2 3 4 5 6 7 …      1, 4 and 6 are in the branch: mask = 0b01010010
    before        0     1   2          lanes of the mask below the own one
                  └─ lane 1 adds 3 to the counter, whose value was n
    place         n    n+1 n+2         each its own

`active_lanes` tells who runs this instruction together, as `__activemask` does. That is no promise: lanes
that took the same branch may come in several groups, and which ones may change from run to run and from
compiler to compiler. `claim_place` is right with any groups; more of them only cost more additions. Never
wait, by a shuffle or a barrier, for lanes that should have come but are not in the mask.

Where all 32 lanes can come by, do not ask but say: `cute.arch.vote_ballot_sync(wanted)` before the branch is
the mask of those who want a place, always the same one, and `claim_place` takes it as well. Where a block has
much to place, `block_scan` and one addition of the block are cheaper than one of each warp.

`cute.arch.activemask` of DSL 4.8.1 has no side effects for the compiler: two calls, one in a branch, become
one, with the mask of before the branch. So it is PTX here, which stays where it stands.
Units: a mask has bit k for lane k. Order: places rise with the lane within a mask; between masks it is free.
Source of the technique: warp-aggregated atomics of CUDA's programming guide, coalesced groups.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Int32, Uint32


def active_lanes():
    """The mask (Uint32) of the lanes that run this together, the own one among them."""
    return cute.arch.inline_ptx("activemask.b32 {$w0};", write_only_types=[Uint32])


@cute.jit
def claim_place(counter: cute.Pointer, mask, scope: cutlass.Constexpr):
    """A place (Int32) for each lane of `mask`, by one addition to `counter`, 32 bits of global or shared
    memory. All lanes of the mask must come with the same mask, and no others; `scope` is cta or gpu."""
    before = Int32(cute.arch.popc(mask & Uint32(cute.arch.lanemask_lt())))
    first = Int32(0)
    if before == 0:
        many = Int32(cute.arch.popc(mask))
        first = Int32(cute.arch.atomic_add(counter, many, sem="relaxed", scope=scope))
    lowest = Int32(cute.arch.popc((mask & (~mask + 1)) - 1))
    return before + Int32(cute.arch.shuffle_sync(first, lowest, mask=mask))
