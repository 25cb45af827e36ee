"""The power of two that a group of fp8 or fp4 numbers shares: its E8M0 code, and its inverse. Traced.

    code 0 … 254    the scale 2^(code - 127)             255    NaN

Two rules make it from the largest magnitude m of the group; L is the largest number of the element type, 448
for e4m3 and 6 for e2m1, and e the exponent of L's power of two, 8 and 2:

    down    2^(floor(log2 m) - e)              OCP MX 1.0; what then passes L saturates
    up      least power of two ≥ m / L         NVIDIA's recipe for Blackwell; nothing saturates

`up` is defined by fp32 arithmetic: m is multiplied by 1/L rounded to fp32. Both give 0 (2^-127) where less
would be needed and for m = 0, 254 for infinity and 255 for NaN, as `cvt.rp.satfinite.ue8m0x2.f32` of sm_100
does, which is `up` there. Elsewhere, bits of a positive float are its exponent above 23 of mantissa: a shift
is floor(log2), and all ones added before it rounds up.
Units: codes are integers. Cost: four to eight instructions a group.
Source of the technique: OCP Microscaling Formats 1.0; NVIDIA's recipe for MXFP8 training.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32

# By bits of an element: its largest number, the exponent of that.
E8M0_ELEMENTS = {8: (448.0, 8), 4: (6.0, 2)}
UE8M0 = """{
.reg .b16 h;
cvt.rp.satfinite.ue8m0x2.f32 h, 0f00000000, {$r0};
cvt.u32.u16 {$w0}, h;
}"""


@cute.jit
def e8m0_of(most, bits: cutlass.Constexpr, up: cutlass.Constexpr, hardware: cutlass.Constexpr):
    """The code (Int32) for a group whose largest magnitude is `most`, not negative; `hardware`: sm_100."""
    largest, exponent = E8M0_ELEMENTS[bits]
    code = Int32(0)
    if cutlass.const_expr(up and hardware):
        code = cute.arch.inline_ptx(UE8M0, write_only_types=[Int32], read_only_args=[most * (1.0 / largest)])
    else:
        if cutlass.const_expr(up):
            word = (most * (1.0 / largest)).bitcast(Int32)
            code = (word + 0x7FFFFF) >> 23
            if word <= 0x400000:  # 2^-127, below which exponents of fp32 end
                code = Int32(0)
        else:
            word = most.bitcast(Int32)
            code = cutlass.max((word >> 23) - exponent, 0)
        if word == 0x7F800000:
            code = Int32(254)
        if word > 0x7F800000:
            code = Int32(255)
    return code


@cute.jit
def e8m0_inverse(code):
    """1 / scale, exact: 2^(127 - code). Of NaN's code 2^-127."""
    return cutlass.max((254 - code) << 23, 0x400000).bitcast(Float32)
