"""Vectors of a row dealt to the lanes of a group, chunk after chunk, and their way into registers. Traced.

    lanes = 4, 6 vectors          vector    0 1 2 3 | 4 5            chunk 0 | chunk 1
                                  lane      0 1 2 3 | 0 1 (2, 3 have none)

A vector may have parts that lie apart, as the x and the y of pairs as halves: (element, part, vector) in
memory becomes (element, part, chunk) in a lane's registers, in memory order, so that each part of each vector
is one access. Where the lanes divide the vectors no access has a predicate.

Units: vectors; a vector is what a lane moves at once of each part.
Source of the technique: chunked rows of a few lanes, as in quack's row kernels.
"""

import cutlass
import cutlass.cute as cute


def lane_fragment(gV: cute.Tensor, n: int, lanes: int):
    """Registers, zeros, for a lane's chunks of `n` vectors: (element, part, chunk), in memory order."""
    layout = cute.make_layout((*gV.shape[:2], max(1, -(-n // lanes))), stride=gV.stride[:3])
    rV = cute.make_fragment_like(cute.make_tensor(gV.iterator, layout))
    rV.fill(0.0)
    return rV


@cute.jit
def lane_copy(gV, rV, lane, n: cutlass.Constexpr, lanes: cutlass.Constexpr, load: cutlass.Constexpr):
    """Load a lane's chunks of the `n` vectors `gV` into `rV`, or store them."""
    for j in cutlass.range_constexpr(-(-n // lanes)):
        if j * lanes + lanes <= n or j * lanes + lane < n:
            if cutlass.const_expr(load):
                cute.autovec_copy(gV[None, None, j * lanes + lane], rV[None, None, j])
            else:
                cute.autovec_copy(rV[None, None, j], gV[None, None, j * lanes + lane])
