"""Folds constants and writes 32-bit index arithmetic signed where that is the same number.

CUDA's coordinates are unsigned, the DSL's are Int32. Two's complement makes + - * and the bit operations
equal for both; division, right shifts, comparisons and widening are only turned where the value is known
to lie in [0, 2^31).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import replace

from translator.model import expr as x
from translator.model.expr import Expr, Var
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, ForRange, If, Stmt, While
from translator.model.types import BF16, BOOL, F16, F32, F64, I32, I64, U32, U64, Scalar
from translator.model.walk import map_exprs, map_functions, map_stmts, walk_expr, walk_stmts
from translator.passes.loops import assigned
from translator.passes.memory import index_type
from translator.passes.ranges import Range, is_index, limits, range_of

_MODULAR = ("+", "-", "*", "&", "|", "^")
_COMPARE = ("<", ">", "<=", ">=", "==", "!=")


def convert(value: int | float | bool, to: Scalar) -> int | float | bool | None:
    """C++ conversion of a constant; None where it is undefined or this file can't do it exactly."""
    if to == BOOL:
        return bool(value)
    if to.is_integer:
        if isinstance(value, float):
            if not math.isfinite(value):
                return None
            value = math.trunc(value)
            lim = limits(to)
            return value if lim is not None and lim[0] <= value <= lim[1] else None
        wrapped = int(value) & ((1 << to.bits) - 1)
        return wrapped - (1 << to.bits) if to.signed and wrapped >> (to.bits - 1) else wrapped
    return rounded(value, to)


def rounded(value: int | float, to: Scalar) -> float | None:
    """`value` rounded to a float type, None for types Python can't round to."""
    if to == F64:
        return float(value)
    code = {F32: "f", F16: "e"}.get(to)
    if code is None:
        return None
    if isinstance(value, int) and abs(value) >= 1 << 53:
        return None  # would round twice
    try:
        return float(struct.unpack(code, struct.pack(code, float(value)))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def simplify(e: Expr, known: Mapping[Var, Range]) -> Expr:
    """One bottom-up step; operands are already simple."""
    if isinstance(e, x.Cast):
        return _cast(e, known)
    if isinstance(e, x.Unary):
        return _unary(e)
    if isinstance(e, x.Binary):
        return _binary(e, known)
    if isinstance(e, x.Index | x.PtrAdd):
        return _address(e, known)
    if isinstance(e, x.Element):
        return replace(e, indices=tuple(_index(i, known) for i in e.indices))
    if isinstance(e, x.Conditional) and isinstance(e.cond, x.Literal):
        return e.then if e.cond.value else e.other
    if isinstance(e, x.Logical):
        return _logical(e)
    return e


def _logical(e: x.Logical) -> Expr:
    for a, b in ((e.left, e.right), (e.right, e.left)):
        if isinstance(a, x.Literal):
            keeps = bool(a.value) == (e.op == "&&")
            if keeps:
                return b
            if a is e.left:
                return a
    return e


def _unary(e: x.Unary) -> Expr:
    inner = e.operand
    if isinstance(inner, x.Literal) and isinstance(e.type, Scalar):
        value = not inner.value if e.op == "!" else -inner.value if e.op == "-" else ~int(inner.value)
        made = convert(value, e.type)
        if made is not None:
            return x.Literal(made, e.type, e.span)
    if e.op == "!" and isinstance(inner, x.Unary) and inner.op == "!":
        return inner.operand
    return e


def _cast(e: x.Cast, known: Mapping[Var, Range]) -> Expr:
    inner, to = e.operand, e.type
    if inner.type == to:
        return inner
    if to == BOOL:
        return _truth(inner)
    if isinstance(inner, x.Literal) and isinstance(to, Scalar):
        made = convert(inner.value, to)
        if made is not None:
            return x.Literal(made, to, e.span, inner.name if made == inner.value else "")
    if to in (I32, U32) and inner.type in (I32, U32) and (_has_special(inner) or isinstance(inner, x.Cast)):
        as_i32 = signed32(inner, known)
        if as_i32 is not None and not (isinstance(as_i32, x.Cast) and as_i32.operand is inner):
            return as_i32 if to == I32 else x.Cast(as_i32, U32, e.span)
    if to in (I64, U64) and inner.type == U32 and is_index(inner, known):
        as_i32 = signed32(inner, known)
        if as_i32 is not None:
            return x.Cast(as_i32, to, e.span)
    if to == I64 and inner.type == U64 and isinstance(inner, x.Binary) and inner.op in ("+", "-", "*"):
        return signed64(inner, known)
    if to in (I64, U64) and isinstance(inner, x.Cast) and inner.type in (I64, U64):
        if inner.operand.type == to:
            return inner.operand
        return x.Cast(inner.operand, to, e.span) if _is_integer(inner.operand) else e
    if isinstance(inner, x.Conditional) and isinstance(to, Scalar) and _literal_arms(inner):
        then, other = (simplify(x.Cast(a, to, a.span), known) for a in (inner.then, inner.other))
        return replace(inner, then=then, other=other, type=to)
    return e


def _literal_arms(e: x.Conditional) -> bool:
    return isinstance(e.then, x.Literal) or isinstance(e.other, x.Literal)


def _is_integer(e: Expr) -> bool:
    return isinstance(e.type, Scalar) and e.type.is_integer


def _truth(e: Expr) -> Expr:
    """`e` as a condition."""
    if isinstance(e, x.Literal):
        return x.Literal(bool(e.value), BOOL, e.span)
    if isinstance(e, x.Cast) and e.operand.type == BOOL:
        return e.operand
    zero = x.Literal(0.0 if isinstance(e.type, Scalar) and e.type.is_float else 0, e.type)
    return x.Binary("!=", e, zero, BOOL, e.span)


def _binary(e: x.Binary, known: Mapping[Var, Range]) -> Expr:
    a, b = e.left, e.right
    if isinstance(a, x.Literal) and isinstance(b, x.Literal) and (made := _fold(e, a, b)) is not None:
        return made
    if e.op in _COMPARE:
        return _compare(e, known)
    t = e.type
    if isinstance(t, Scalar) and t.is_integer:
        if isinstance(b, x.Literal):
            if (b.value == 0 and e.op in ("+", "-", "<<", ">>", "|", "^")) or (
                b.value == 1 and e.op in ("*", "/")
            ):
                return a
            if b.value == 0 and e.op == "*" and not _has_effect(a):
                return replace(b, name="")
        if isinstance(a, x.Literal) and ((a.value == 0 and e.op == "+") or (a.value == 1 and e.op == "*")):
            return b
    return e


def _has_effect(e: Expr) -> bool:
    return any(isinstance(n, x.Call | x.Intrinsic) for n in walk_expr(e))


def _fold(e: x.Binary, a: x.Literal, b: x.Literal) -> Expr | None:
    if e.op in _COMPARE:
        table = {
            "<": a.value < b.value,
            ">": a.value > b.value,
            "<=": a.value <= b.value,
            ">=": a.value >= b.value,
            "==": a.value == b.value,
            "!=": a.value != b.value,
        }
        return x.Literal(table[e.op], BOOL, e.span)
    if not isinstance(e.type, Scalar) or e.type == BF16:
        return None
    value = (
        _float_op(e.op, a.value, b.value) if e.type.is_float else _int_op(e.op, int(a.value), int(b.value))
    )
    made = None if value is None else convert(value, e.type)
    return None if made is None else x.Literal(made, e.type, e.span)


def _float_op(op: str, a: float, b: float) -> float | None:
    """In double: one operation on F32 or F16 values rounds to the same result as in their own precision."""
    if op == "/":
        return a / b if b else None
    if op in ("+", "-", "*"):
        made = {"+": a + b, "-": a - b, "*": a * b}[op]
        return made if math.isfinite(made) else None
    return None


def _int_op(op: str, a: int, b: int) -> int | None:
    if op in ("/", "%"):
        if b == 0:
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if op == "/" else a - b * quotient
    if op in ("<<", ">>"):
        return None if not 0 <= b < 64 else a << b if op == "<<" else a >> b
    return {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[op]


def _compare(e: x.Binary, known: Mapping[Var, Range]) -> Expr:
    a, b = e.left, e.right
    truth = a.operand if isinstance(a, x.Cast) and a.operand.type == BOOL else None
    if truth is not None and e.op in ("==", "!=") and isinstance(b, x.Literal) and b.value in (0, 1):
        positive = (e.op == "==") == bool(b.value)
        return truth if positive else x.Unary("!", truth, BOOL, e.span)
    if a.type == U32:
        both = e.op in ("==", "!=") and (_has_special(a) or _has_special(b) or _is_reinterpreted(a, b))
        if both or (is_index(a, known) and is_index(b, known)):
            left, right = signed32(a, known), signed32(b, known)
            if left is not None and right is not None:
                return replace(e, left=left, right=right)
    return e


def _is_reinterpreted(a: Expr, b: Expr) -> bool:
    def one(e: Expr) -> bool:
        return isinstance(e, x.Literal) or (isinstance(e, x.Cast) and e.operand.type == I32)

    return one(a) and one(b)


def _address(e: x.Index | x.PtrAdd, known: Mapping[Var, Range]) -> Expr:
    if isinstance(e, x.Index):
        return replace(e, index=_index(e.index, known))
    offset = _index(e.offset, known)
    if isinstance(offset, x.Literal) and offset.value == 0:
        return e.pointer
    if isinstance(e.pointer, x.PtrAdd) and isinstance(offset, x.Literal):
        inner = e.pointer.offset
        if isinstance(inner, x.Literal):
            total = int(inner.value) + int(offset.value)
            return replace(e, pointer=e.pointer.pointer, offset=x.Literal(total, index_type(total)))
    return replace(e, offset=offset)


def _index(e: Expr, known: Mapping[Var, Range]) -> Expr:
    """An index the DSL extends as C++ does: signed 32 or 64 bits."""
    t = e.type
    assert isinstance(t, Scalar)
    if t in (I32, I64):
        return e
    if t == U32 and is_index(e, known) and (as_i32 := signed32(e, known)) is not None:
        return as_i32
    if isinstance(e, x.Literal):
        return replace(e, type=index_type(int(e.value)))
    if t == U64 and isinstance(e, x.Cast) and e.operand.type in (I32, I64):
        return simplify(x.Cast(e.operand, I64, e.span), known)
    return simplify(x.Cast(e, I64 if t.bits >= 32 else I32, e.span), known)


def _has_special(e: Expr) -> bool:
    return any(isinstance(n, x.Special) for n in walk_expr(e))


def signed32(e: Expr, known: Mapping[Var, Range]) -> Expr | None:
    """The Int32 expression with the bits of the 32-bit integer `e`."""
    if e.type == I32:
        return e
    if e.type != U32:
        return None
    if isinstance(e, x.Special):
        return replace(e, type=I32)
    if isinstance(e, x.Literal):
        made = convert(e.value, I32)
        return (
            replace(e, value=made, type=I32, name=e.name if made == e.value else "")
            if made is not None
            else None
        )
    if isinstance(e, x.Cast) and e.operand.type in (I32, U32):
        return signed32(e.operand, known)
    if isinstance(e, x.Unary) and e.op in ("-", "~"):
        inner = signed32(e.operand, known)
        return None if inner is None else replace(e, operand=inner, type=I32)
    if isinstance(e, x.Binary):
        return _signed_binary(e, known)
    return x.Cast(e, I32, e.span)


def signed64(e: Expr, known: Mapping[Var, Range]) -> Expr:
    """The Int64 expression with the bits of the unsigned 64-bit sum or product `e`."""
    if isinstance(e, x.Binary) and e.op in ("+", "-", "*"):
        return replace(e, left=signed64(e.left, known), right=signed64(e.right, known), type=I64)
    if isinstance(e, x.Cast) and _is_integer(e.operand):
        return simplify(x.Cast(e.operand, I64, e.span), known)
    return simplify(x.Cast(e, I64, e.span), known)


def _signed_binary(e: x.Binary, known: Mapping[Var, Range]) -> Expr | None:
    modular = e.op in _MODULAR
    exact = e.op in ("/", "%", ">>") and is_index(e.left, known) and is_index(e.right, known)
    if not (modular or exact or e.op == "<<"):
        return x.Cast(e, I32, e.span)
    left = signed32(e.left, known)
    right = e.right if e.op == "<<" else signed32(e.right, known)
    if left is None or right is None:
        return x.Cast(e, I32, e.span)
    return replace(e, left=left, right=right, type=I32)


def known_ranges(f: Function) -> dict[Var, Range]:
    """Intervals of variables that get one value, and of loop counters."""
    known: dict[Var, Range] = {}
    times: dict[Var, int] = {}
    for s in walk_stmts(f.body):
        for v in assigned((_alone(s),)):
            times[v] = times.get(v, 0) + 1
    for s in walk_stmts(f.body):
        if isinstance(s, Decl) and s.init is not None and times.get(s.var) == 1:
            r = range_of(s.init, known)
            if r is not None:
                known[s.var] = r
        elif isinstance(s, ForRange):
            low, high = range_of(s.start, known), range_of(s.stop, known)
            step = range_of(s.step, known)
            if low and high and step and step[0] > 0:
                known[s.var] = (low[0], max(high[1] - 1, low[1]))
            elif low and step and step[0] > 0:
                known[s.var] = (low[0], (1 << 31) - 1)
    return known


def _alone(s: Stmt) -> Stmt:
    """`s` without the statements in it."""
    changes = {
        n: ()
        for n in ("then", "other", "body", "init", "advance", "cases")
        if isinstance(getattr(s, n, None), tuple)
    }
    return replace(s, **changes) if changes else s  # type: ignore[arg-type]


def named_constants(f: Function) -> dict[Var, x.Literal]:
    """`const` scalars with a literal value: they keep their name, and loops over them a known length."""
    return {
        s.var: replace(s.init, name=s.var.name)
        for s in walk_stmts(f.body)
        if isinstance(s, Decl) and s.var.const and isinstance(s.init, x.Literal) and s.init.type == s.var.type
    }


def prune(s: Stmt, constants: Mapping[Var, x.Literal]) -> Stmt | tuple[Stmt, ...]:
    """`s` without what can't run, and without the declarations of named constants."""
    if isinstance(s, Decl) and s.var in constants:
        return ()
    if isinstance(s, If) and isinstance(s.cond, x.Literal):
        return s.then if s.cond.value else s.other
    if isinstance(s, While) and isinstance(s.cond, x.Literal) and not s.cond.value:
        return ()
    return s


def tidy(model: KernelModel) -> KernelModel:
    """`model` with constants folded and index arithmetic signed; in two rounds."""

    def function(f: Function) -> Function:
        for _ in range(2):
            known, constants = known_ranges(f), named_constants(f)

            def expr(
                e: Expr, known: Mapping[Var, Range] = known, named: dict[Var, x.Literal] = constants
            ) -> Expr:
                if isinstance(e, x.VarRef) and e.var in named:
                    return replace(named[e.var], span=e.span)
                return simplify(e, known)

            body = map_exprs(f.body, expr)
            body = map_stmts(body, lambda s, named=constants: prune(s, named))  # type: ignore[misc]
            if body is f.body:
                break
            f = replace(f, body=body)
        return f

    return map_functions(model, function)
