"""CUDA's hlog and hlog10: the hardware's log2 on Float32, then the few inputs that round wrongly mended."""

import cutlass
from cutlass import Float16, Float32, Uint16

from translator.mapping.helpers.ptx_op import ptx_op


def half_log(x: Float16, scale: float, mend: tuple[tuple[int, int], ...]) -> Float16:
    """scale log2(x); `mend`: bits of an input and of what is added to its result."""
    result = Float16(ptx_op("lg2.approx.ftz.f32", Float32, Float32(x)) * Float32(scale))
    for at, step in mend:
        mended = result + Uint16(step).bitcast(Float16)
        result = Float16(cutlass.select_(x.bitcast(Uint16) == Uint16(at), mended, result))
    return result
