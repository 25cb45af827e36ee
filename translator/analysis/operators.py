"""Operators and builtins on bounds: what is known of a result from what is known of its operands."""

from __future__ import annotations

from dataclasses import replace

from translator.analysis import values as v
from translator.analysis.poly import Poly
from translator.analysis.values import TOP, Value, const

NEGATED = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def _shift_left(a: Value, b: Value) -> Value:
    by = b.exact.constant if b.exact is not None else None
    return v.multiply(a, const(1 << by)) if by is not None and 0 <= by < 63 else replace(TOP, loads=a.loads)


def _shift_right(a: Value, b: Value) -> Value:
    by = b.exact.constant if b.exact is not None else None
    if by is None or not 0 <= by < 63:
        return Value(Poly(), a.hi, None, None, a.loads)
    return v.divide(a, const(1 << by))


def _and(a: Value, b: Value) -> Value:
    tops = [p.hi for p in (a, b) if p.hi is not None and p.hi.constant is not None and p.hi.constant >= 0]
    tops = tops or [p.exact for p in (b, a) if p.exact is not None]  # a mask that is a parameter
    tops = tops or [p.hi for p in (a, b) if p.hi is not None]
    hi = min(tops, key=lambda p: p.constant or 0) if tops else None
    return Value(Poly(), hi, None, None, a.loads | b.loads)


def _or(a: Value, b: Value) -> Value:
    """`a | b` and `a ^ b` are at most `a + b` where neither is negative."""
    return replace(v.add(a, b), lo=Poly(), exact=None, offset_of=None)


ARITHMETIC = {
    "+": v.add, "-": v.subtract, "*": v.multiply, "/": v.divide, "%": v.modulo,
    "<<": _shift_left, ">>": _shift_right, "&": _and, "|": _or, "^": _or,
}  # fmt: skip
PICKS = {
    **dict.fromkeys(("min", "umin", "llmin", "ullmin"), v.minimum),
    **dict.fromkeys(("max", "umax", "llmax", "ullmax"), v.maximum),
}
NAMED = {
    "__popc": Value(Poly(), Poly.const(32)),
    "__popcll": Value(Poly(), Poly.const(64)),
    "__clz": Value(Poly(), Poly.const(32)),
    "__ffs": Value(Poly(), Poly.const(32)),
}
