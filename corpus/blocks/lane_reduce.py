"""Reductions over neighbouring lanes of a warp: 2, 4, 8, 16 or 32 of them, any operation, any type. Traced.

A butterfly: in step k each lane combines its value with that of the lane whose number differs in one bit,
from the highest down. After log2(lanes) steps every lane of a group holds the group's result, all with equal
bits, since a op b and b op a are the same for what is meant (sums, products, maxima, bit operations).

    lanes = 4     0 1 2 3  ─(xor 2)→  0·2 1·3 2·0 3·1  ─(xor 1)→  0·2·1·3 in all four

The groups of a warp work side by side. All 32 lanes must arrive; those without data bring a neutral value.
Units: those of the values; lanes.
Source of the technique: butterflies by __shfl_xor_sync, in CUDA's programming guide.
"""

import cutlass
import cutlass.cute as cute


@cute.jit
def lane_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result over each group of `lanes` (a power of two up to 32) lanes, in all of them."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        value = operation(value, cute.arch.shuffle_sync_bfly(value, lanes >> (step + 1)))
    return value
