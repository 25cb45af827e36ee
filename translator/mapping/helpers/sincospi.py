"""CUDA's sincospi and sincospif."""

from cutlass import Float32, Numeric, cute


def sincospi(x: Numeric) -> tuple[Numeric, Numeric]:
    """(sin(pi x), cos(pi x)) for Float32 and Float64."""
    kind = type(x)
    suffix = "f" if kind is Float32 else ""
    sinpi = cute.ffi(name=f"__nv_sinpi{suffix}", params_types=[kind], return_type=kind)
    cospi = cute.ffi(name=f"__nv_cospi{suffix}", params_types=[kind], return_type=kind)
    return kind(sinpi(x)), kind(cospi(x))
