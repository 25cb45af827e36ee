"""C's isnormal; the DSL's own has no lowering."""

from cutlass import Boolean, Float32, Numeric, cute


def isnormal(x: Numeric) -> Boolean:
    """Neither zero, denormal, infinite nor NaN."""
    kind = type(x)
    least = 1.1754943508222875e-38 if kind is Float32 else 2.2250738585072014e-308
    size = cute.math.abs(x)
    return (size >= kind(least)) & (size < kind(float("inf")))
