"""Operators of half, bf16, fp8 and of pairs of them, which the stub headers declare as functions."""

from __future__ import annotations

from typing import Any

from translator.diag.diagnostic import Span
from translator.frontend import ast, builtins, inline, lift_call, lift_expr
from translator.frontend.convert import convert
from translator.frontend.refusal import LiftError
from translator.frontend.scope import Scope
from translator.model.expr import Assign, Binary, Expr, IncDec, Intrinsic, Unary
from translator.model.types import BF16, F8E4M3, F8E5M2, F16, VOID, Struct, Type

SMALL_FLOATS = (F16, BF16, F8E4M3, F8E5M2)
_PAIRS = ("__half2", "__nv_bfloat162")


def operator(scope: Scope, c: Any, target: Any) -> Expr | None:
    """Operators of half, bf16 and their pairs; None if this is something else."""
    name = target.spelling
    if not name.startswith("operator"):
        return None
    cursors = lift_call.arguments(c)
    t = scope.type_of(cursors[0]) if cursors else VOID
    op = name.removeprefix("operator")
    if not (t in SMALL_FLOATS or (isinstance(t, Struct) and (t.name in _PAIRS or op == "="))):
        return None
    span = ast.span(c)
    if op == "=":
        to = lift_expr.lift_lvalue(scope, cursors[0])
        return Assign(
            to, "", convert(lift_expr.value_of(scope, cursors[1], to.type), to.type, span), to.type, span
        )
    if op in ("++", "--"):
        object_ = lift_expr.lift_lvalue(scope, cursors[0])
        return IncDec(object_, "+" if op == "++" else "-", len(cursors) == 1, t, span)
    if op.endswith("=") and op not in ("==", "!=", "<=", ">="):
        return _compound(scope, op[:-1], cursors, t, span)
    args = [lift_expr.value_of(scope, x, t) for x in cursors]
    if len(args) == 1:
        if op == "+":
            return args[0]
        return (
            Unary("-", args[0], t, span) if t in SMALL_FLOATS else Intrinsic("__hneg2", (args[0],), t, span)
        )
    if isinstance(t, Struct):
        return Intrinsic(builtins.PAIR_OPERATORS[name], tuple(args), scope.types.of(target.result_type), span)
    return Binary(op, args[0], args[1], scope.types.of(target.result_type), span)


def _compound(scope: Scope, op: str, cursors: list[Any], t: Type, span: Span) -> Expr:
    to = lift_expr.lift_lvalue(scope, cursors[0])
    value = lift_expr.value_of(scope, cursors[1], t)
    if not isinstance(t, Struct):
        return Assign(to, op, value, t, span, t)
    if not inline.is_simple(to):
        raise LiftError("CP1127", cursors[0], what=f"operator{op}= on an object computed with side effects")
    return Assign(to, "", Intrinsic(builtins.PAIR_OPERATORS["operator" + op], (to, value), t, span), t, span)
