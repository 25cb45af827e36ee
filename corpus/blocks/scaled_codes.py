"""Numbers as 8-bit codes with one scale: value ≈ code · scale. Traced.

    scale = most / largest code               most: the largest magnitude that shall have a code
    code  = round(value · (largest code / most))

One division for a whole row or group, then a multiplication for each element; the factor is rounded once, not
made from the rounded scale. This is the arithmetic of the engines' activation quantisers, and whoever repeats
it gets the same bits. Units: scales in units of value. `kind` is a name in CODES.
Source of the technique: symmetric quantisation by the largest magnitude, as inference engines have it.
"""

from cutlass import Float8E4M3FN, Int8

from corpus.blocks.fp8_convert import E4M3_MAX, to_e4m3
from corpus.blocks.int8_convert import INT8_MAX, to_int8

# (element type, largest code) by name
CODES = {"e4m3": (Float8E4M3FN, E4M3_MAX), "int8": (Int8, INT8_MAX)}


def scale_of(most, kind: str):
    """The scale with which `most`, a positive fp32, gets the largest code."""
    return most / CODES[kind][1]


def codes_of(values, factor, kind: str, saturate: bool = False):
    """The codes of a vector of fp32 times `factor`. `saturate`: products may pass the largest code."""
    if kind == "e4m3":
        return to_e4m3(values * factor)
    return to_int8(values * factor, saturate)
