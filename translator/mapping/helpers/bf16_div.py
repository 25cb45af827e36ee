"""CUDA's bfloat16 division: the Float32 approximation is close enough for one correct rounding."""

import cutlass
from cutlass import BFloat16, Float32, cute

from translator.mapping.helpers.ptx_op import ptx_op


def bf16_div(a: BFloat16, b: BFloat16) -> BFloat16:
    """a / b, rounded once; large divisors are scaled, as div.approx flushes their quotients."""
    divisor = Float32(b)
    big = cute.math.abs(divisor) >= Float32(2.0**126)
    divisor = Float32(cutlass.select_(big, divisor * Float32(0.25), divisor))
    quotient = ptx_op("div.approx.f32", Float32, Float32(a), divisor)
    return BFloat16(Float32(cutlass.select_(big, quotient * Float32(0.25), quotient)))
