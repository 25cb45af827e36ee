"""Conversions to and from tf32, e4m3 and e5m2, and cvt.pack: results are looked up among all codes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tests.emulator.exact import FORMATS, NAN, Format, Number, decode, encode
from tests.emulator.oracle_integer import signed

Oracle = Callable[..., list[int]]

_TF32 = Format(11, 8, 0x3FFFF)
_NAN = 0x7F


def _e4m3(code: int) -> Number:
    """The value of a code: no infinity, one NaN, the largest number 448."""
    if code & 0x7F == 0x7F:
        return NAN
    field, fraction = code >> 3 & 15, code & 7
    significand = fraction + 8 if field else fraction
    return Number(bool(code >> 7), significand * Fraction(2) ** (max(field, 1) - 10))


_VALUES = {
    "e4m3": [_e4m3(code).size or Fraction(0) for code in range(0x7F)],
    "e5m2": [decode(code, FORMATS["e5m2"]).size or Fraction(0) for code in range(0x7C)],
}


def _to_fp8(kind: str, x: Number, relu: bool) -> int:
    if x.nan:
        return _NAN
    if relu and x.negative:
        return 0
    values = _VALUES[kind]
    size = values[-1] if x.size is None else min(x.size, values[-1])
    code = min(range(len(values)), key=lambda c: (abs(values[c] - size), c % 2))
    return code | int(x.negative) << 7


def _from_fp8(kind: str, code: int) -> int:
    x = _e4m3(code) if kind == "e4m3" else decode(code, FORMATS["e5m2"])
    return encode(x, FORMATS["f16"])


def convert_narrow(words: list[str]) -> Oracle:
    to, source = words[-2:]
    relu = "relu" in words
    if to == "tf32":
        mode = words[1]

        def tf32(a: int) -> list[int]:
            x = decode(a, FORMATS["f32"])
            if x.nan and mode == "rna":
                # Integer arithmetic that knows no NaN: the last bits are cut, and .satfinite takes one step
                # down, which makes infinity or a number of a NaN with a small payload.
                return [(a >> 13 << 13) - (0x2000 if "satfinite" in words else 0)]
            if x.nan:
                return [FORMATS["f32"].nan >> 13 << 13]
            bits = encode(x, _TF32, mode)
            if "satfinite" in words and bits & 0x3FFFF == _TF32.infinity:
                bits -= 1
            bits <<= 13
            return [0 if relu and bits >> 31 else bits]

        return tf32
    if source == "f32":
        kind = to[:-2]
        f = FORMATS["f32"]
        return lambda a, b: [
            _to_fp8(kind, decode(b, f), relu) | _to_fp8(kind, decode(a, f), relu) << 8,
        ]
    if source == "f16x2":
        kind = to[:-2]
        lanes = [(0, 0), (16, 8)]
        return lambda a: [
            sum(_to_fp8(kind, decode(a >> i & 0xFFFF, FORMATS["f16"]), relu) << at for i, at in lanes)
        ]
    kind = source[:-2]

    def widen(a: int) -> list[int]:
        halves = [_from_fp8(kind, a >> n & 0xFF) for n in (0, 8)]
        if relu:
            halves = [h if h == 0x7FFF or not h >> 15 else 0 for h in halves]
        return [halves[0] | halves[1] << 16]

    return widen


def convert_pack(words: list[str]) -> Oracle:
    """cvt.pack.sat.<narrow>.s32[.b32]: two clamped integers, above them what of c fits."""
    kind = words[3]
    bits = int(kind[1:])
    low, high = (0, (1 << bits) - 1) if kind[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)

    def run(a: int, b: int, c: int = 0) -> list[int]:
        x, y = (min(max(signed(v, 32), low), high) & ((1 << bits) - 1) for v in (a, b))
        return [(y | x << bits | c << 2 * bits) & 0xFFFFFFFF]

    return run
