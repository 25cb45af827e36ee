"""Eight fp32 numbers as fp4 e2m1 codes in one 32-bit word. Traced.

    code    sign 1 | exponent 2, bias 1 | mantissa 1         0 ½ 1 1½ 2 3 4 6 and their negatives
    word    code 7 | code 6 | … | code 0                     two codes a byte, the first in its low half
    nearest, ties to the even code; beyond ±6 and ±infinity become ±6; -0 stays -0; NaN becomes +6

On sm_100 it is `cvt.rn.satfinite.e2m1x2.f32`. Elsewhere one addition rounds. Codes are ½ apart below 2, 1
apart below 4, 2 apart above: p/2 apart, p being the power of two at y or 1, the larger. So are fp32 numbers
near 2^22·p, and the adder's own rounding, nearest even, is that of the format:

    r = p·(2^22 + 1) + y      bits of r    sign s | 149 + log2 p | 2 + n       y ≈ n · p/2, code 2·log2 p + n

One integer product adds up s, exponent and n in the top four bits, where the exponent's constant and the 2
cancel; a funnel shift takes them into the word. Three minima, maxima and masks, a shift and three
multiplications an element. The factor is a product of its own, as on sm_100: a NaN leaves it without sign.
Units: codes of 4 bits; values in units of the format, after the factor.
Source of the technique: rounding by adding a large number, here one that moves with the exponent.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32, Uint32

# Both sides by magnitude, with the product of the signs; a NaN counts as the other side.
LESSER = "min.xorsign.abs.f32 {$w0}, {$r0}, 0f40C00000;"  # of y and 6
GREATER = "max.xorsign.abs.f32 {$w0}, {$r0}, 0f3F800000;"  # of y and 1
E2M1X8 = """{
.reg .b8 a, b, c, d;
cvt.rn.satfinite.e2m1x2.f32 a, {$r1}, {$r0};
cvt.rn.satfinite.e2m1x2.f32 b, {$r3}, {$r2};
cvt.rn.satfinite.e2m1x2.f32 c, {$r5}, {$r4};
cvt.rn.satfinite.e2m1x2.f32 d, {$r7}, {$r6};
mov.b32 {$w0}, {a, b, c, d};
}"""


@cute.jit
def to_e2m1x8(values, factor, hardware: cutlass.Constexpr):
    """The word of codes of `values[k] * factor`, k from 0 to 7; fp32. `hardware`: sm_100 or later."""
    word = Uint32(0)
    products = [values[k] * factor for k in range(8)]
    if cutlass.const_expr(hardware):
        word = cute.arch.inline_ptx(E2M1X8, write_only_types=[Uint32], read_only_args=products)
    else:
        for k in cutlass.range_constexpr(8):
            near = cute.arch.inline_ptx(LESSER, write_only_types=[Float32], read_only_args=[products[7 - k]])
            size = cute.arch.inline_ptx(GREATER, write_only_types=[Float32], read_only_args=[near])
            power = (size.bitcast(Int32) & Int32(-0x800000)).bitcast(Float32)
            round_ = (power * 4194305.0 + near).bitcast(Uint32)
            word = word << 4 | round_ * Uint32(0x10000041) >> 28
    return word
