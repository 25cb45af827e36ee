"""What is known about the value of an integer expression: an interval, from CUDA's own limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from translator.model import expr as x
from translator.model.expr import Expr, Var
from translator.model.types import Scalar, Type

Range: TypeAlias = "tuple[int, int]"
INT_MAX = (1 << 31) - 1
_SPECIAL: dict[tuple[str, str], Range] = {
    ("threadIdx", "x"): (0, 1023),
    ("threadIdx", "y"): (0, 1023),
    ("threadIdx", "z"): (0, 63),
    ("blockDim", "x"): (1, 1024),
    ("blockDim", "y"): (1, 1024),
    ("blockDim", "z"): (1, 64),
    ("blockIdx", "x"): (0, INT_MAX - 1),
    ("blockIdx", "y"): (0, 65534),
    ("blockIdx", "z"): (0, 65534),
    ("gridDim", "x"): (1, INT_MAX),
    ("gridDim", "y"): (1, 65535),
    ("gridDim", "z"): (1, 65535),
}


def limits(t: Type) -> Range | None:
    """The interval of an integer type."""
    if not isinstance(t, Scalar) or not t.is_integer:
        return None
    return (-(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1) if t.signed else (0, (1 << t.bits) - 1)


def within(r: Range | None, t: Type) -> Range | None:
    """`r` if every value of it is a value of `t`, else None (it may have wrapped)."""
    lim = limits(t)
    return r if r is not None and lim is not None and lim[0] <= r[0] and r[1] <= lim[1] else None


def range_of(e: Expr, known: Mapping[Var, Range]) -> Range | None:
    """An interval that holds the mathematical value of integer `e`, or None."""
    found = _range(e, known)
    lim = limits(e.type)
    if found is not None and lim is not None and lim[0] <= found[0] and found[1] <= lim[1]:
        return found
    return lim if lim is not None and isinstance(e.type, Scalar) and e.type.bits <= 16 else None


def _range(e: Expr, known: Mapping[Var, Range]) -> Range | None:
    if isinstance(e, x.Literal) and isinstance(e.value, int):
        return int(e.value), int(e.value)
    if isinstance(e, x.Special):
        return _SPECIAL[e.base, e.axis]
    if isinstance(e, x.VarRef):
        return known.get(e.var)
    if isinstance(e, x.Cast):
        inner = range_of(e.operand, known)
        return within(inner, e.type)
    if isinstance(e, x.Conditional):
        return _join(range_of(e.then, known), range_of(e.other, known))
    if isinstance(e, x.Binary):
        return _binary(e.op, range_of(e.left, known), range_of(e.right, known))
    return None


def _join(a: Range | None, b: Range | None) -> Range | None:
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def _binary(op: str, a: Range | None, b: Range | None) -> Range | None:
    if op in ("<", ">", "<=", ">=", "==", "!="):
        return 0, 1
    if op == "&" and (a is not None or b is not None):
        tops = [r[1] for r in (a, b) if r is not None and r[0] >= 0]
        return (0, min(tops)) if tops else None
    if op == "%" and b is not None and b[0] > 0:
        if a is not None and a[0] >= 0:
            return 0, min(a[1], b[1] - 1)
        return 1 - b[1], b[1] - 1
    if a is None or b is None:
        return None
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    if op == "*":
        ends = [p * q for p in a for q in b]
        return min(ends), max(ends)
    if op == "/" and a[0] >= 0 and b[0] > 0:
        return a[0] // b[1], a[1] // b[0]
    if op == ">>" and a[0] >= 0 and b[0] >= 0 and b[1] < 64:
        return a[0] >> b[1], a[1] >> b[0]
    if op == "<<" and a[0] >= 0 and b[0] >= 0 and b[1] < 64:
        return a[0] << b[0], a[1] << b[1]
    if op in ("|", "^") and a[0] >= 0 and b[0] >= 0:
        return 0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1
    return None


def is_index(e: Expr, known: Mapping[Var, Range]) -> bool:
    """Whether `e` is surely in [0, 2^31): the same number signed or unsigned."""
    r = range_of(e, known)
    return r is not None and r[0] >= 0 and r[1] <= INT_MAX


def is_special_only(e: Expr) -> bool:
    """Built from thread and block coordinates, whose ranges the compiler itself knows."""
    if isinstance(e, x.Cast | x.Unary):
        return is_special_only(e.operand)
    if isinstance(e, x.Binary):
        return is_special_only(e.left) and is_special_only(e.right)
    return isinstance(e, x.Special | x.Literal)
