"""CUDA's hexp and hexp10: the hardware's 2^x on Float32, then the few inputs that round wrongly mended."""

import cutlass
from cutlass import Float16, Float32, Uint16

from translator.mapping.helpers.ptx_op import ptx_op


def half_exp(x: Float16, scale: float, mend: tuple[tuple[int, int], ...]) -> Float16:
    """2^(scale x); `mend`: bits of an input and of what is added to its result."""
    wide = ptx_op("ex2.approx.ftz.f32", Float32, Float32(x) * Float32(scale))
    result = Float16(wide)
    for at, step in mend:
        mended = result + Uint16(step).bitcast(Float16)
        result = Float16(cutlass.select_(x.bitcast(Uint16) == Uint16(at), mended, result))
    return result
