"""CUDA's __hisinf, which tells the sign."""

from cutlass import Int32, Numeric


def half_isinf(x: Numeric) -> Int32:
    """1 for +inf, -1 for -inf, else 0."""
    kind = type(x)
    up = Int32(x == kind(float("inf")))
    return up - Int32(x == kind(float("-inf")))
