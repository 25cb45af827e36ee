"""Constants as Python text that the DSL reads back exactly."""

from __future__ import annotations

import math
import struct

from translator.model.expr import Literal
from translator.model.types import BF16, BOOL, F16, F32, Scalar

_PACK = {F32.name: "f", F16.name: "e"}


def number(value: int | float | bool, t: Scalar) -> str:
    """The shortest Python literal that is `value` once it has type `t`; infinities are named."""
    if t == BOOL:
        return str(bool(value))
    if not t.is_float:
        return hex(int(value)) if not t.signed and int(value) > 0xFFFF else str(int(value))
    value = float(value)
    if math.isnan(value):
        return 'float("nan")'
    if math.isinf(value):
        return 'float("inf")' if value > 0 else '-float("inf")'
    return shortest(value, t)


def shape_text(sizes: list[int]) -> str:
    """The shape of an array: a number, or a tuple of them."""
    return str(sizes[0]) if len(sizes) == 1 else f"({', '.join(map(str, sizes))})"


def shortest(value: float, t: Scalar) -> str:
    """The shortest decimal that rounds to `value` in type `t`."""
    code = _PACK.get(t.name)
    if code is None:
        return repr(value)
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        try:
            back = struct.unpack(code, struct.pack(code, float(text)))[0]
        except OverflowError:
            continue
        if back == value:
            return repr(float(text))
    return repr(value)


def bare_fits(e: Literal, beside: Scalar) -> bool:
    """Whether the literal may stand bare next to an operand of type `beside` and get exactly that type."""
    t = e.type
    if t != beside or not isinstance(t, Scalar) or t == BOOL or t in (F16, BF16):
        return False
    if t.is_float:
        return math.isfinite(float(e.value))
    if t.bits < 32:
        return False
    return (int(e.value) >= -(1 << 31) if t.signed else int(e.value) >= 0) and int(e.value) < 1 << 31
