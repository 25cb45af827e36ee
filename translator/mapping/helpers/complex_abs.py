"""cuCabs and cuCabsf: the larger part scaled out, so that squares don't overflow."""

import cutlass
from cutlass import Float32, Numeric, cute


def complex_abs(re: Numeric, im: Numeric) -> Numeric:
    """|re + i im|"""
    kind = type(re)
    largest = kind(3.402823466e38 if kind is Float32 else 1.79769313486231570e308)
    a, b = cute.math.abs(re), cute.math.abs(im)
    more, less = kind(cutlass.select_(a > b, a, b)), kind(cutlass.select_(a > b, b, a))
    ratio = less / more
    scaled = more * cute.math.sqrt(kind(1.0) + ratio * ratio)
    plain = (more == kind(0.0)) | (more > largest) | (less > largest)
    return kind(cutlass.select_(plain, more + less, scaled))
