"""CUDA's half division: by reciprocal, refined once where the quotient is denormal or nearly so."""

import cutlass
from cutlass import Float16, Float32, Uint16, cute

from translator.mapping.helpers.ptx_op import ptx_op


def half_div(a: Float16, b: Float16) -> Float16:
    """a / b, rounded once."""
    wide_a, wide_b = Float32(a), Float32(b)
    reciprocal = ptx_op("rcp.approx.ftz.f32", Float32, wide_b)
    quotient = reciprocal * wide_a
    first = Float16(quotient)
    error = cute.math.fma(-wide_b, quotient, wide_a)
    second = Float16(cute.math.fma(reciprocal, error, quotient))
    size = first.bitcast(Uint16) & Uint16(0x7FFF)
    small = (size < Uint16(0x008F)) & (size > Uint16(0))
    return Float16(cutlass.select_(small, second, first))
