"""Constants of PTX: integers, floats, and expressions of integers such as `4*8+WARP_SZ`."""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable

from verify.emulator.ptx.lexical import brief
from verify.emulator.ptx.module import Imm, PtxError

_INT = re.compile(
    r"(-?)\s*+(?:0[xX]([0-9a-fA-F]{1,40})|0[bB]([01]{1,80})|(0[0-7]{0,40})|([1-9]\d{0,40}))U?", re.ASCII
)
_BITS = re.compile(r"(-?)\s*+0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))", re.ASCII)
_DECIMAL = re.compile(r"-?\s*+(?:\d++\.\d*|\.\d++|\d++(?=[eE]))(?:[eE][+-]?\d{1,4})?", re.ASCII)

_TOKEN = re.compile(r"\s*+(0[xX][0-9a-fA-F]++U?|\d\w*+|WARP_SZ\b|<<|[-+*~()&|^])\s*+", re.ASCII)
_LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"<<": lambda a, b: a << b if 0 <= b < 64 else 1 << 64},  # too far: does not fit
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul},
)
_MAX_TOKENS = 32


def integer(text: str) -> int | None:
    """The value of an integer as PTX writes it (decimal, 0x…, 0b…, octal 0…, suffix U), else None.

    PtxError CP7101 if it doesn't fit in 64 bits.
    """
    found = _INT.fullmatch(text)
    if not found:
        return None
    sign, *digits = found.groups()
    value = next(int(part, base) for part, base in zip(digits, (16, 2, 8, 10), strict=True) if part)
    return _fitting(-value if sign else value, text)


def expression(text: str) -> int | None:
    """The value of an integer expression with `+ - * << & | ^ ~` and brackets. None where it is none.

    Computed without wrapping: PtxError CP7101 if a result doesn't fit in 64 bits.
    """
    simple = integer(text)
    if simple is not None:
        return simple
    tokens: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found or len(tokens) == _MAX_TOKENS:
            return None
        tokens.append(found[1])
        at = found.end()
    tokens.reverse()
    value = _binary(tokens, 0)
    return None if tokens or value is None else _fitting(value, text)


def _fitting(value: int, text: str) -> int:
    if not -(2**63) <= value < 2**64:
        raise PtxError("CP7101", f"the number {brief(text)} does not fit in 64 bits")
    return value


def _binary(tokens: list[str], level: int) -> int | None:
    """Takes an expression of this level of precedence from the end of `tokens`."""
    if level == len(_LEVELS):
        return _unary(tokens)
    left = _binary(tokens, level + 1)
    while left is not None and tokens and tokens[-1] in _LEVELS[level]:
        compute = _LEVELS[level][tokens.pop()]
        right = _binary(tokens, level + 1)
        left = None if right is None else _fitting(compute(left, right), "of an expression")
    return left


def _unary(tokens: list[str]) -> int | None:
    if not tokens:
        return None
    token = tokens.pop()
    if token in ("+", "-", "~"):
        value = _unary(tokens)
        if value is None:
            return None
        return value if token == "+" else -value if token == "-" else ~value
    if token == "(":
        value = _binary(tokens, 0)
        return value if tokens and tokens.pop() == ")" else None
    return 32 if token == "WARP_SZ" else integer(token)


def number(text: str) -> Imm | None:
    """A constant: an integer, `0f…`, `0d…`, or a decimal float (double precision). Else None."""
    value = integer(text)
    if value is not None:
        return Imm(value)
    if found := _BITS.fullmatch(text):
        sign, single, double = found.groups()
        if single:
            return Imm(int(single, 16) ^ (1 << 31 if sign else 0), "f32")
        return Imm(int(double, 16) ^ (1 << 63 if sign else 0), "f64")
    if _DECIMAL.fullmatch(text):
        value = struct.unpack("<Q", struct.pack("<d", float("".join(text.split()))))[0]
        return Imm(value, "f64")
    return None
