"""fp32 → fp8 e4m3 and back, vectors or single numbers. Traced.

    value       sign 1 | exponent 4, bias 7 | mantissa 3      largest 448, smallest 2^-9, no infinity
    to_e4m3     nearest, ties to even; beyond ±448 and ±infinity become ±448; NaN becomes 0x7F
    from_e4m3   exact; 0x7F and 0xFF become NaN

A vector (TensorSSA) is converted two elements an instruction, `cvt.rn.satfinite.e4m3x2.f32` (sm_89 and
later), and back by `cvt.rn.f16x2.e4m3x2`: every e4m3 is an fp16. Units: none, a number and its code.
Cost: half an instruction an element to fp8, one and a half back.
Source of the technique: OCP 8-bit Floating Point 1.0; the PTX manual, cvt.
"""

from cutlass import Float8E4M3FN, Float32

E4M3_MAX = 448.0


def to_e4m3(values):
    """fp32 values as e4m3, saturating."""
    return values.to(Float8E4M3FN)


def from_e4m3(codes):
    """e4m3 codes as fp32."""
    return codes.to(Float32)
