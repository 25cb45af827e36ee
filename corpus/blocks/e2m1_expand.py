"""Eight fp4 e2m1 codes of a 32-bit word as fp32 numbers. Traced.

    code    sign 1 | exponent 2, bias 1 | mantissa 1      0 ½ 1 1½ 2 3 4 6 and their negatives, -0 among them
    word    code 7 | code 6 | … | code 0                  two codes a byte, the first in its low half

Exact: there is nothing to round. On sm_100 it is `cvt.rn.f16x2.e2m1x2`, a byte an instruction. Elsewhere the
bits of two codes, 16 apart in the word, move to where fp16 has its own, by two shifts and two masks:

    fp16    sign 15 | exponent 14 … 10, bias 15 | mantissa 9 … 0
    code    sign 15 |           low two, 11, 10 | mantissa 9          2^14 too small, which one product mends

A code with exponent 0 is a subnormal fp16 on the way, and right by the same product.
Units: none, a code and its number. Cost: one instruction an element, and its conversion from fp16.
Source of the technique: fp16 from 4-bit codes by shifts and masks, as in Marlin's and FP6-LLM's kernels.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float16, Int32, Uint32

from corpus.blocks.packed_math import packed, unpack

SIGNS, SIZES, POWER = 0x80008000, 0x0E000E00, 0x74007400  # the last is 2^14 twice
E2M1X8_F16 = """{
.reg .b8 a, b, c, d;
mov.b32 {a, b, c, d}, {$r0};
cvt.rn.f16x2.e2m1x2 {$w0}, a;
cvt.rn.f16x2.e2m1x2 {$w1}, b;
cvt.rn.f16x2.e2m1x2 {$w2}, c;
cvt.rn.f16x2.e2m1x2 {$w3}, d;
}"""


def from_e2m1x8(word, hardware: cutlass.Constexpr):
    """What the codes of a word (Uint32) mean, from the first on: a list of Float32. `hardware`: sm_100 or
    later."""
    if hardware:
        pairs = cute.arch.inline_ptx(E2M1X8_F16, write_only_types=[Int32] * 4, read_only_args=[word])
        return [value for pair in pairs for value in unpack(pair, Float16)]
    low, high = [], []
    for k in range(4):  # codes k and k + 4
        sizes = word << (9 - 4 * k) if k < 3 else word >> 3
        bits = (word << (12 - 4 * k)) & Uint32(SIGNS) | sizes & Uint32(SIZES)
        first, second = unpack(packed("mul", Float16, Int32(bits), Int32(POWER)), Float16)
        low.append(first)
        high.append(second)
    return low + high
