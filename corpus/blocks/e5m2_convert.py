"""fp32 → fp8 e5m2 and back, vectors or single numbers. Traced.

Not inlined: what inference stores in fp8 (weights, activations, caches) is e4m3, which has a bit more of
mantissa; e5m2 is for gradients, of which the corpus has none. Like fp8_convert otherwise.

    value       sign 1 | exponent 5, bias 15 | mantissa 2     largest 57344, smallest 2^-16, infinity 0x7C
    to_e5m2     nearest, ties to even; beyond ±57344, infinities too, become ±57344; NaN becomes 0x7F
    from_e5m2   exact; 0x7C and 0xFC become infinities, 0x7D to 0x7F and 0xFD to 0xFF NaN

It is the upper half of an fp16 that was rounded: that is what it is converted by and to, two elements an
instruction: `cvt.rn.satfinite.e5m2x2.f32` (sm_89 and later), `cvt.rn.f16x2.e5m2x2`. Units: none, a number and
its code.
Source of the technique: OCP 8-bit Floating Point 1.0; the PTX manual, cvt.
"""

from cutlass import Float8E5M2, Float32

E5M2_MAX = 57344.0


def to_e5m2(values):
    """fp32 values as e5m2, saturating."""
    return values.to(Float8E5M2)


def from_e5m2(codes):
    """e5m2 codes as fp32."""
    return codes.to(Float32)
