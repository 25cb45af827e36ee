"""The weight from which on a row weighs enough, by bisection and without a sort. Traced.

The weights of a row, whole numbers from 0 to MOST_WEIGHT, lie in the registers of its threads. Wanted is the
largest w for which those of w or more add up to `need`: the threshold of top-p, where ties stay together.

    1 ≤ low ──────── pivot ──────── high ≤ MOST_WEIGHT      in the middle by the bits of both as floats
                │  sum, least ≥ pivot  │              enough:  low = the least weight from pivot on
                │    most < pivot      │              too few: high = the largest weight below pivot

until both are w. Octaves are halved first, then parts of one, and what no weight lies in is jumped over: many
equal weights end the search as early as one alone. Weights above 2^24 that floats do not hold are found too,
in more rounds. Sums have 64 bits and are exact: all threads find the same, in whatever order they add.
"""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32, Int64

from corpus.blocks.cluster_reduce import cluster_begin
from corpus.blocks.reduce_together import reduce_together
from corpus.blocks.whole_weight import MOST_WEIGHT


@cute.jit
def kept_sum(rW: cute.Tensor, least):
    """The sum of the thread's weights that are `least` or more."""
    total = Int64(0)
    for k in cutlass.range_constexpr(cute.size(rW)):
        total += Int64(cutlass.select_(rW[k] >= least, rW[k], Int32(0)))
    return total


@cute.jit
def between(low, high):
    """A weight above `low` and up to `high`, in the middle by the bits of both as floats."""
    a, b = Float32(low).bitcast(Int32), Float32(high).bitcast(Int32)
    return min(max(Int32((a + (b - a) // 2).bitcast(Float32)), low + 1), high)


@cute.jit
def weight_threshold(
    rW: cute.Tensor, need, total, lanes: cutlass.Constexpr, blocks: cutlass.Constexpr, sParts, sFroms
):
    """(w, sum of the row's weights from w on). `total` is the sum of all, `need` from 1 to it; (1, 0) where
    nothing weighs. `sParts` and `sFroms` are those of `reduce_together`, (2, …), Int64, Int32 and Int32."""
    low, high, kept, turn = Int32(1), Int32(MOST_WEIGHT), total, Int32(0)
    while low < high:
        cluster_begin(blocks)
        pivot, turn = between(low, high), 1 - turn
        enough, least, below = kept_sum(rW, pivot), Int32(MOST_WEIGHT), Int32(0)
        for k in cutlass.range_constexpr(cute.size(rW)):
            inside = rW[k] >= pivot
            least = min(least, cutlass.select_(inside, rW[k], Int32(MOST_WEIGHT)))
            below = max(below, cutlass.select_(inside, Int32(0), rW[k]))
        sNow, sThere = [s[turn, None] for s in sParts], [s[turn, None] for s in sFroms]
        values, operations = (enough, least, below), (operator.add, min, max)
        enough, least, below = reduce_together(values, operations, lanes, blocks, sNow, sThere)
        if enough >= need:
            low, kept = least, enough
        else:
            high = below
    return low, kept
