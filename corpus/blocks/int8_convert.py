"""fp32 → int8, vectors: nearest integer, ties to even. Traced.

    saturate = True     beyond the range become -128 and 127
    saturate = False    for values that round to no more than ±127: two instructions an element less

NaN becomes 0. Units: none, a number and its code. The way over int32 keeps conversion and packing apart, so
that four codes are packed by three `prmt`; straight to int8 each is masked first.
Source of the technique: the PTX manual, cvt.rni and cvt.sat.
"""

import cutlass.cute as cute
from cutlass import Float32, Int8, Int32

INT8_MAX = 127.0


def to_int8(values, saturate: bool):
    """A vector of fp32 as int8."""
    whole = cute.math.roundeven(values).to(Int32)
    if saturate:
        whole = cute.where(whole > 127, cute.full_like(whole, 127), whole)
        whole = cute.where(whole < -128, cute.full_like(whole, -128), whole)
    return whole.to(Int8)


def from_int8(codes):
    """A vector of int8 as fp32, exact."""
    return codes.to(Float32)
