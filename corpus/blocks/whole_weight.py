"""A logit's weight in a softmax as a whole number, so that sums of them do not depend on an order. Traced.

    weight = ⌊2^30 · e^((x - most) / temperature)⌉          scale = log2 e / temperature, in fp32

of which 2^32 fit into 64 bits. What weighs less than 2^-31 of the largest weighs nothing. Each step has one
result in fp32 (a difference, a product, `ex2.approx`, an exact product with 2^30, one rounding), so that two
kernels that take these steps agree in every weight.

x = most weighs 2^30 whatever the scale: with a temperature of 0, or where the largest is infinite, only the
largest weigh anything. NaN weighs nothing.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Int32

LOG2_E = 1.4426950408889634
MOST_WEIGHT = 1 << 30


@cute.jit
def whole_weight(x, most, scale):
    """The weight of a logit `x` (fp32) in a row whose maximum is `most`, an Int32."""
    power = cute.math.exp2((x - most) * scale, fastmath=True) * float(MOST_WEIGHT)
    weight = cute.arch.inline_ptx(
        "cvt.rni.s32.f32 {$w0}, {$r0};", write_only_types=[Int32], read_only_args=[power]
    )
    return cutlass.select_(x == most, Int32(MOST_WEIGHT), weight)
