"""CUDA's hexp2: the hardware's 2^x on Float32, nudged up so that ties round as they should."""

from cutlass import Float16, Float32, cute

from translator.mapping.helpers.ptx_op import ptx_op


def half_exp2(x: Float16) -> Float16:
    """2^x"""
    wide = ptx_op("ex2.approx.ftz.f32", Float32, Float32(x))
    return Float16(cute.math.fma(wide, Float32(2.0**-24), wide))
