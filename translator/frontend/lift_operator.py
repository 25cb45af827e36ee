"""Operators: arithmetic, comparison, pointers, assignment, subscripts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from translator.diag.diagnostic import Span
from translator.frontend import ast, lift_expr
from translator.frontend.convert import address_of, convert, deref
from translator.frontend.refusal import LiftError
from translator.frontend.scope import Scope
from translator.model.expr import (
    Assign,
    Binary,
    Cast,
    Comma,
    Conditional,
    Expr,
    IncDec,
    Index,
    Literal,
    Logical,
    PtrAdd,
    PtrDiff,
    Unary,
)
from translator.model.types import BOOL, I32, I64, VOID, Array, Pointer, Scalar, Type

_COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})


def unary(scope: Scope, c: Any) -> Expr:
    op = ast.unary_operator(c)
    inner = ast.operand_children(c)[-1]
    span = ast.span(c)
    if op == "&":
        target = lift_expr.lift_lvalue(scope, inner)
        if not lift_expr.is_lvalue(target) and not isinstance(target, Comma):
            raise LiftError("CP1129", c, what="a temporary value")
        return address_of(target, scope.type_of(c), span)
    if op == "*":
        pointer = lift_expr.lift(scope, inner)
        if isinstance(pointer.type, Array):
            pointer = lift_expr.decayed(pointer, Pointer(pointer.type.of))
        return deref(pointer, scope.type_of(c), span)
    if op in ("x++", "x--", "++x", "--x"):
        target = lift_expr.lift_lvalue(scope, inner)
        if not lift_expr.is_lvalue(target):
            raise LiftError("CP1129", c, what="a temporary value")
        return IncDec(target, "+" if "+" in op else "-", op[0] != "x", target.type, span)
    named = lift_expr.constant(scope, c)
    if named is not None:
        return named
    operand = lift_expr.lift(scope, inner)
    if op in ("+", "__extension__"):
        return operand
    if op == "!":
        return Unary("!", convert(operand, BOOL, operand.span), BOOL, span)
    if op in ("-", "~"):
        if (
            isinstance(operand, Literal)
            and not operand.name
            and op == "-"
            and isinstance(operand.type, Scalar)
        ):
            minus = -operand.value
            if operand.type.is_float or (operand.type.signed and operand.type.bits >= 32):
                return replace(operand, value=minus, span=span)
        return Unary(op, operand, scope.type_of(c), span)
    raise LiftError("CP1127", c, what=f"operator {op or scope.text(c)}")


def _target(scope: Scope, c: Any) -> Expr:
    """The object that an assignment changes."""
    made = lift_expr.lift_lvalue(scope, c)
    if not lift_expr.is_lvalue(made) and not isinstance(made, Comma):
        raise LiftError("CP1129", c, what="a temporary value")
    return made


def binary(scope: Scope, c: Any) -> Expr:
    op = ast.binary_operator(c)
    left, right = ast.operand_children(c)[-2:]
    span = ast.span(c)
    if op == "=":
        target = _target(scope, left)
        return Assign(target, "", lift_expr.value_of(scope, right, target.type), target.type, span)
    if op == ",":
        a, b = lift_expr.lift(scope, left), lift_expr.lift(scope, right)
        return Comma(a, b, b.type, span)
    named = lift_expr.constant(scope, c)
    if named is not None:
        return named
    a, b = lift_expr.lift(scope, left), lift_expr.lift(scope, right)
    if op in ("&&", "||"):
        return Logical(op, convert(a, BOOL, a.span), convert(b, BOOL, b.span), BOOL, span)  # type: ignore[arg-type]
    if isinstance(a.type, Pointer) or isinstance(b.type, Pointer):
        return _pointer_binary(op, a, b, scope.type_of(c), span)
    if op in _COMPARISONS:
        return Binary(op, a, b, BOOL, span)
    if not op:
        raise LiftError("CP1127", c, what=f"operator in {scope.text(c)}")
    return Binary(op, a, b, scope.type_of(c), span)


def _pointer_binary(op: str, a: Expr, b: Expr, t: Type, span: Span) -> Expr:
    if isinstance(t, Array):  # as the parameter was written
        t = Pointer(t.of)
    if op in _COMPARISONS:
        return Binary(op, a, convert(b, a.type, b.span), BOOL, span)
    if op == "+":
        return PtrAdd(a, b, t, span) if isinstance(a.type, Pointer) else PtrAdd(b, a, t, span)
    if op == "-" and isinstance(b.type, Pointer):
        return PtrDiff(a, b, I64, span)
    return PtrAdd(a, negated(b), t, span)


def negated(offset: Expr) -> Expr:
    """Minus an offset, in a type wide enough for it."""
    t = offset.type
    if isinstance(t, Scalar) and not t.signed and t.bits < 64:
        offset = convert(offset, I64, offset.span)
    if isinstance(offset, Literal) and not offset.name and offset.type in (I32, I64):
        return replace(offset, value=-offset.value)
    return Unary("-", offset, offset.type, offset.span)


def compound(scope: Scope, c: Any) -> Expr:
    op = ast.binary_operator(c)[:-1]
    left, right = ast.operand_children(c)[-2:]
    span = ast.span(c)
    target = _target(scope, left)
    value = lift_expr.lift(scope, right)
    if isinstance(target.type, Pointer):
        return Assign(target, op, value, target.type, span)
    # The compiler has converted the right side to the type of the operation, but for a shift's count.
    compute = promoted(target.type) if op in ("<<", ">>") else value.type
    return Assign(target, op, value, target.type, span, compute)


def promoted(t: Type) -> Type:
    """The type of `+x` for a scalar x."""
    return I32 if isinstance(t, Scalar) and t.is_integer and t.bits < 32 else t


def conditional(scope: Scope, c: Any) -> Expr:
    named = lift_expr.constant(scope, c)
    if named is not None:
        return named
    test, then, other = (lift_expr.lift(scope, x) for x in ast.operand_children(c)[-3:])
    t = scope.type_of(c)
    if isinstance(t, Array):
        t = Pointer(t.of)
        then, other = (lift_expr.decayed(x, t) if isinstance(x.type, Array) else x for x in (then, other))
    if t == VOID:  # `c ? (void)f() : (void)0`: the casts are not in the tree that was lifted
        then, other = (a if a.type == VOID else Cast(a, VOID, a.span) for a in (then, other))
    return Conditional(convert(test, BOOL, test.span), then, other, t, ast.span(c))


def subscript(scope: Scope, c: Any) -> Expr:
    a, b = (lift_expr.lift(scope, x) for x in ast.operand_children(c)[-2:])
    if isinstance(b.type, Pointer | Array):  # 2[a]
        a, b = b, a
    if isinstance(a.type, Array):
        a = lift_expr.decayed(a, Pointer(a.type.of))
    return Index(a, b, scope.type_of(c), ast.span(c))
