"""A value and its column in one 64-bit integer, whose order is the order of elements in a row. Traced.

    63 … 32   the value's bits, turned so that integers order as the floats do
    31 … 0    2^31 - 1 - column, so that of equal values the one further left is larger

A maximum over such integers is an argmax with its index: `lane_reduce`, `row_reduce` and `cluster_reduce`
need nothing new. NaN is larger than +∞, all NaN are equal, and -0 equals 0, as in torch. Turned bits:
those of a negative float fall where the float rises, so all but the sign are inverted.
Units: columns in elements.
Source of the technique: float bits as integers, as radix sorts take them (CUB).
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32, Int64

FURTHEST = 0x7FFFFFFF


@cute.jit
def ranked(value, column):
    """A number of 64 bits for `value` (fp32) in `column` (0 … 2^31 - 1)."""
    bits = (value + 0.0).bitcast(Int32)  # -0 + 0 is 0
    turned = cutlass.select_(value != value, Int32(FURTHEST), bits ^ ((bits >> 31) & FURTHEST))
    return (Int64(turned) << 32) | Int64(FURTHEST - column)


@cute.jit
def ranked_value(number):
    """The value (fp32) in a number of `ranked`; -0 comes back as 0."""
    turned = Int32(number >> 32)
    return (turned ^ ((turned >> 31) & FURTHEST)).bitcast(Float32)


@cute.jit
def ranked_column(number):
    """The column in a number of `ranked`."""
    return FURTHEST - Int32(number & FURTHEST)


@cute.jit
def higher(a, b):
    """The larger of two numbers of `ranked`: an operation for reductions."""
    return max(a, b)
