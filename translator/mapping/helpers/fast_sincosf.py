"""CUDA's __sincosf: both of the hardware's approximations, denormals kept."""

from cutlass import Float32, cute


def fast_sincosf(x: Float32) -> tuple[Float32, Float32]:
    """(__sinf(x), __cosf(x))"""
    fast_sin = cute.ffi(name="__nv_fast_sinf", params_types=[Float32], return_type=Float32)
    fast_cos = cute.ffi(name="__nv_fast_cosf", params_types=[Float32], return_type=Float32)
    return Float32(fast_sin(x)), Float32(fast_cos(x))
