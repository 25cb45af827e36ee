"""CUDA's hlog2: the hardware's log2 on Float32, with two results that round wrongly mended."""

import cutlass
from cutlass import Float16, Float32, Uint16

from translator.mapping.helpers.ptx_op import ptx_op


def half_log2(x: Float16) -> Float16:
    """log2(x)"""
    result = Float16(ptx_op("lg2.approx.ftz.f32", Float32, Float32(x)))
    for wrong, step in ((0xA2E2, 0x8080), (0xBF46, 0x9400)):
        mended = result + Uint16(step).bitcast(Float16)
        result = Float16(cutlass.select_(result.bitcast(Uint16) == Uint16(wrong), mended, result))
    return result
