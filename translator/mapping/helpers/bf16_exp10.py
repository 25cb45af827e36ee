"""CUDA's hexp10 of bfloat16: the hardware's 2^x on Float32, with the one input that rounds wrongly mended."""

import cutlass
from cutlass import BFloat16, Float32, Uint16

from translator.mapping.helpers.ptx_op import ptx_op


def bf16_exp10(x: BFloat16) -> BFloat16:
    """10^x"""
    result = BFloat16(ptx_op("ex2.approx.f32", Float32, Float32(x) * Float32(3.321928024291992)))
    mended = Uint16(0x3F75).bitcast(BFloat16)
    return BFloat16(cutlass.select_(x.bitcast(Uint16) == Uint16(0xBC95), mended, result))
