"""Saturation of a bfloat16 to [0, 1], which has no instruction of its own."""

from cutlass import BFloat16

from translator.mapping.helpers.ptx_op import ptx_op


def clamp01(x: BFloat16) -> BFloat16:
    """min(max(x, 0), 1); NaN becomes 0, as in CUDA's *_sat functions."""
    floor = ptx_op("max.bf16", BFloat16, x, BFloat16(0.0))
    return ptx_op("min.bf16", BFloat16, floor, BFloat16(1.0))
