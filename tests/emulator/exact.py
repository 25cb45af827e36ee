"""Floating point by exact rational arithmetic: what one rounding gives, in any format and direction.

It shares nothing with the emulator's C: numbers are Fractions, results found between their neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt


@dataclass(frozen=True, slots=True)
class Format:
    """`precision` bits of significand with the hidden one, `width` bits of exponent, the canonical NaN."""

    precision: int
    width: int
    nan: int

    @property
    def bits(self) -> int:
        return self.precision + self.width

    @property
    def infinity(self) -> int:
        return ((1 << self.width) - 1) << (self.precision - 1)

    @property
    def lowest(self) -> int:
        """Exponent of the smallest number."""
        return 2 - (1 << (self.width - 1)) - (self.precision - 1)


FORMATS = {
    "f16": Format(11, 5, 0x7FFF),
    "bf16": Format(8, 8, 0x7FFF),
    "f32": Format(24, 8, 0x7FFFFFFF),
    "f64": Format(53, 11, 0xFFF8000000000000),
    "e5m2": Format(3, 5, 0x7F),
}


@dataclass(frozen=True, slots=True)
class Number:
    """`size` is None for infinity; `nan` for NaN."""

    negative: bool
    size: Fraction | None = None
    nan: bool = False

    @property
    def value(self) -> Fraction:
        assert self.size is not None
        return -self.size if self.negative else self.size

    @property
    def zero(self) -> bool:
        return self.size == 0


NAN = Number(False, nan=True)


def decode(bits: int, f: Format) -> Number:
    negative = bool(bits >> (f.bits - 1))
    field = bits >> (f.precision - 1) & ((1 << f.width) - 1)
    fraction = bits & ((1 << (f.precision - 1)) - 1)
    if field == (1 << f.width) - 1:
        return NAN if fraction else Number(negative)
    if field:
        fraction += 1 << (f.precision - 1)
    return Number(negative, fraction * Fraction(2) ** (f.lowest + max(field, 1) - 1))


def encode(x: Number, f: Format, mode: str = "rn") -> int:
    """The bits of the number rounded to nearest even (rn), with ties away (rna), to zero, down or up."""
    sign = int(x.negative) << (f.bits - 1)
    if x.nan:
        return f.nan
    if x.size is None:
        return sign | f.infinity
    top = x.size.numerator.bit_length() - x.size.denominator.bit_length()
    if Fraction(2) ** top > x.size:
        top -= 1  # now 2^top <= size < 2^(top+1)
    last = max(top - (f.precision - 1), f.lowest)
    steps = x.size / Fraction(2) ** last
    below = steps.numerator // steps.denominator
    rest = steps - below
    half = Fraction(1, 2)
    up = {
        "rn": rest > half or (rest == half and below % 2 == 1),
        "rna": rest >= half,
        "rz": False,
        "rm": x.negative and rest > 0,
        "rp": not x.negative and rest > 0,
    }[mode]
    if x.size == 0:
        return sign
    bits = ((last - f.lowest) << (f.precision - 1)) + below + int(up)
    if bits >= f.infinity:
        outward = mode in ("rn", "rna") or (mode == "rm" and x.negative) or (mode == "rp" and not x.negative)
        return sign | (f.infinity if outward else f.infinity - 1)
    return sign | bits


def encode_flushed(x: Number, f: Format, mode: str) -> int:
    """As `encode`, but a result that would be subnormal is a zero of its sign.

    It is the number rounded to the format's precision as if exponents had no limit that decides: what rounds
    up to the smallest normal number then stays, what reaches it only by the wider steps of subnormal numbers
    does not.
    """
    unlimited = Format(f.precision, 20, 0)
    smallest = Fraction(2) ** (f.lowest + f.precision - 1)
    rounded = decode(encode(x, unlimited, mode), unlimited)
    if rounded.size is not None and not x.nan and rounded.size < smallest:
        return int(x.negative) << (f.bits - 1)
    return encode(x, f, mode)


def quiet(bits: int, f: Format) -> int:
    """A NaN with the highest bit of its fraction set; its sign and payload stay."""
    return bits | 1 << (f.precision - 2)


def add(x: Number, y: Number, mode: str) -> Number:
    if x.nan or y.nan:
        return NAN
    if x.size is None or y.size is None:
        if x.size is None and y.size is None and x.negative != y.negative:
            return NAN
        return x if x.size is None else y
    total = x.value + y.value
    if total == 0:
        same = x.negative == y.negative
        return Number(x.negative if same else mode == "rm", Fraction(0))
    return Number(total < 0, abs(total))


def multiply(x: Number, y: Number) -> Number:
    negative = x.negative != y.negative
    if x.nan or y.nan:
        return NAN
    if x.size is None or y.size is None:
        return NAN if x.zero or y.zero else Number(negative)
    return Number(negative, x.size * y.size)


def divide(x: Number, y: Number) -> Number:
    negative = x.negative != y.negative
    if x.nan or y.nan or (x.size is None and y.size is None) or (x.zero and y.zero):
        return NAN
    if x.size is None or y.zero:
        return Number(negative)
    return Number(negative, Fraction(0) if y.size is None else x.size / y.size)


def root(x: Number) -> Number:
    """The square root: exact where it is rational, otherwise right to 2^-200 of itself, never on a tie."""
    if x.nan or x.zero:
        return x
    if x.negative:
        return NAN
    if x.size is None:
        return x
    scale = 2 * (400 + abs(x.size.numerator.bit_length() - x.size.denominator.bit_length()))
    scaled = x.size * 2**scale
    whole = isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(whole) ** 2 == scaled
    return Number(False, Fraction(whole if exact else 2 * whole + 1, 2 ** (scale // 2) * (1 if exact else 2)))


def flush(bits: int, f: Format) -> int:
    """Subnormal numbers become zeros of their sign."""
    return bits if bits & f.infinity else bits & 1 << (f.bits - 1)


def saturate(bits: int, f: Format) -> int:
    """To [0, 1]; NaN to +0."""
    x = decode(bits, f)
    if x.nan or x.negative:
        return 0
    one = encode(Number(False, Fraction(1)), f)
    return min(bits, one)


def to_integer(x: Number, mode: str) -> int:
    """The value rounded to a whole number (rni, rzi, rmi, rpi)."""
    v = x.value
    below = v.numerator // v.denominator
    if mode == "rmi" or v == below:
        return below
    if mode == "rpi":
        return below + 1
    if mode == "rzi":
        return below if v > 0 else below + 1
    rest = v - below
    return below + int(rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1))
