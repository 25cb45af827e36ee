"""Conversions between model types, and the folding of converted literals."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

from translator.diag.diagnostic import NOWHERE, Span
from translator.model.expr import AddrOf, Cast, Construct, Deref, Expr, InitList, Literal, String
from translator.model.types import BOOL, F32, F64, I64, U64, Array, Pointer, Scalar, Struct, Type, same


def convert(e: Expr, to: Type, span: Span = NOWHERE, *, explicit: bool = False) -> Expr:
    """`e` as a value of type `to`: itself if it is one already, a literal of that type, or a Cast."""
    if same(e.type, to):
        return e
    if isinstance(e, Literal):
        folded = _folded(e, to)
        if folded is not None:
            return folded
    if isinstance(e, String) and to == BOOL:
        return Literal(True, BOOL, span)  # `assert(false && "why")`
    if isinstance(to, Pointer) and isinstance(e.type, Scalar) and e.type.bits < 64:
        e = convert(e, I64 if e.type.signed else U64, span)  # widened by its own sign
    if isinstance(e.type, Pointer) and isinstance(to, Scalar) and 1 < to.bits < 64:
        e = Cast(e, U64, span, explicit)
    return Cast(e, to, span, explicit)


def _folded(e: Literal, to: Type) -> Literal | None:
    """The literal converted, if that is exact in meaning; a named one only if its value stays the same."""
    if isinstance(to, Pointer):
        return Literal(0, to, e.span) if e.value == 0 and not e.name else None
    if not isinstance(to, Scalar) or not isinstance(e.type, Scalar):
        return None
    value = e.value
    if to == BOOL:
        return None if e.name else replace(e, value=value != 0, type=to)
    if to.is_integer:
        if isinstance(value, float):
            return None
        wrapped = wrap(int(value), to)
        return None if e.name and wrapped != value else replace(e, value=wrapped, type=to)
    if e.name or to not in (F32, F64):
        return None
    try:
        return replace(e, value=round_float(float(value), to), type=to)
    except OverflowError:
        return None


def wrap(value: int, to: Scalar) -> int:
    """`value` modulo 2**bits, in the range of the integer type."""
    value &= (1 << to.bits) - 1
    return value - (1 << to.bits) if to.signed and value >> (to.bits - 1) else value


def round_float(value: float, to: Scalar) -> float:
    """`value` rounded to f32 or f64. Raises OverflowError if it is finite and out of range."""
    if to == F64 or math.isinf(value) or math.isnan(value):
        return value
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def zero(t: Type, span: Span = NOWHERE) -> Expr:
    """The value of an object initialised with nothing: all zero."""
    if isinstance(t, Struct | Array):
        return InitList((), t, span)
    if t == BOOL:
        return Literal(False, t, span)
    return Literal(0.0 if isinstance(t, Scalar) and t.is_float else 0, t, span)


def deref(pointer: Expr, t: Type, span: Span = NOWHERE) -> Expr:
    """`*pointer`; `*&x` is x."""
    if isinstance(pointer, AddrOf) and same(pointer.lvalue.type, t):
        return pointer.lvalue
    return Deref(pointer, t, span)


def address_of(lvalue: Expr, pointer: Type, span: Span = NOWHERE) -> Expr:
    """`&lvalue`; `&*p` is p."""
    if isinstance(lvalue, Deref) and same(lvalue.pointer.type, pointer):
        return lvalue.pointer
    return AddrOf(lvalue, pointer, span)


def as_construct(e: Expr) -> Expr:
    """A brace list used as a value: a struct's becomes a Construct with a value for every field."""
    if not isinstance(e, InitList) or not isinstance(e.type, Struct):
        return e
    given = [as_construct(x) for x in e.items]
    rest = [as_construct(zero(f.type, e.span)) for f in e.type.fields[len(given) :]]
    return Construct(e.type, (*given, *rest), e.span)
