"""Zeros in what a thread holds beyond the end of a row. Traced.

Copies with a predicate leave registers as they were, so that a fragment filled before is right. What is then
computed from it (x - mean) is no longer zero there, and must be again before it is summed.

    rC ((width, 1), 1, chunks)     an access without its predicate is all zeros

Units: columns in elements.
Source of the technique: masks after predicated copies, as in CUTLASS's attention examples.
"""

import cutlass
import cutlass.cute as cute


@cute.jit
def zero_outside(tXrX: cute.Tensor, tXpX: cute.Tensor):
    """Overwrite the accesses of `tXrX` whose predicate in `tXpX` (row_tiles.in_bounds) does not hold."""
    for j in cutlass.range_constexpr(cute.size(tXrX, mode=[2])):
        if not tXpX[0, 0, j]:
            tXrX[None, 0, j].fill(0.0)
