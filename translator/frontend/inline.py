"""Small functions put in place of their calls, and parameters passed by value where that is the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from translator.frontend.convert import convert, deref
from translator.model.expr import (
    LVALUES,
    AddrOf,
    Assign,
    Call,
    Cast,
    Conditional,
    Decay,
    Deref,
    Expr,
    IncDec,
    Intrinsic,
    Literal,
    Unsupported,
    Var,
    VarRef,
)
from translator.model.kernel import Function
from translator.model.stmt import Decl, Return, Stmt
from translator.model.types import BOOL, I8, U8, Pointer, Scalar, Struct, Type, same
from translator.model.walk import map_expr, map_exprs, root_var, walk_expr, walk_exprs, walk_stmts

_WITH_EFFECT = (Assign, IncDec, Call, Intrinsic, Unsupported)


def is_simple(e: Expr) -> bool:
    """True if evaluating `e` twice, or not at all, changes nothing."""
    return not any(isinstance(x, _WITH_EFFECT) for x in walk_expr(e))


def substituted(e: Expr, given: Mapping[Var, Expr]) -> Expr:
    """`e` with variables replaced, and what becomes constant by that folded."""

    def put(x: Expr) -> Expr:
        if isinstance(x, VarRef):
            return given.get(x.var, x)
        if isinstance(x, Cast) and isinstance(x.operand, Literal) and not x.explicit:
            return convert(x.operand, x.type, x.span)
        if isinstance(x, Conditional) and isinstance(x.cond, Literal) and x.cond.type == BOOL:
            return x.then if x.cond.value else x.other
        if isinstance(x, Deref):
            return deref(x.pointer, x.type, x.span)
        return x

    return map_expr(e, put)


def object_of(function: Function, args: Iterable[Expr]) -> Expr | None:
    """The object named by a call of `T* f(…) { return &object; }`, None if the call must stay."""
    given = list(args)
    body = function.body
    if len(body) != 1 or not isinstance(body[0], Return) or body[0].value is None:
        return None
    if not isinstance(function.result, Pointer) or not all(is_simple(a) for a in given):
        return None
    made = substituted(body[0].value, dict(zip(function.params, given, strict=True)))
    if any(isinstance(x, AddrOf) and not isinstance(x.lvalue, LVALUES) for x in walk_expr(made)):
        return None  # it would point to a temporary value
    return deref(made, function.result.to, made.span)


# ---- references that may as well be values


def with_values(function: Function, functions: Mapping[str, Function]) -> Function:
    """`function` with reference parameters of scalar type passed by value where nobody can tell.

    That holds if the body neither changes the parameter, takes its address nor binds it to another
    reference, and writes nothing that its referent could be.
    """
    touched, written = _touched(function.body, functions)
    changed: dict[Var, Expr] = {}
    params: list[Var] = []
    for p in function.params:
        fixed = p.ref and isinstance(p.type, Scalar | Pointer) and p not in touched
        if fixed and written is not None and not any(_may_be(p.type, t) for t in written):
            value = replace(p, ref=False, const=p.const)
            changed[p] = VarRef(value)
            params.append(value)
        else:
            params.append(p)
    if not changed:
        return function

    def put(e: Expr) -> Expr:
        return replace(e, var=changed[e.var].var) if isinstance(e, VarRef) and e.var in changed else e  # type: ignore[union-attr]

    return replace(function, params=tuple(params), body=map_exprs(function.body, put))


def _may_be(t: Type, written: Type) -> bool:
    """True if a write of type `written` may change an object of type `t`."""
    return same(t, written) or written in (I8, U8) or isinstance(written, Struct)


def _touched(body: tuple[Stmt, ...], functions: Mapping[str, Function]) -> tuple[set[Var], list[Type] | None]:
    """(variables changed or referred to, types written through pointers and references; None: unknown)."""
    touched: set[Var] = set()
    written: list[Type] = []
    for s in walk_stmts(body):
        if isinstance(s, Decl) and s.var.ref and not s.var.const and s.init is not None:
            _note(s.init, touched, None)
    for e in walk_exprs(body):
        if isinstance(e, Assign | IncDec):
            _note(e.target, touched, written)
        elif isinstance(e, AddrOf):
            _note(e.lvalue, touched, None)
        elif isinstance(e, Decay):
            _note(e.array, touched, None)
        elif isinstance(e, Call):
            f = functions.get(e.symbol)
            if f is None:
                return touched, None
            for p, a in zip(f.params, e.args, strict=True):
                if p.ref and not p.const:
                    _note(a, touched, written)
                elif isinstance(p.type, Pointer) and not p.type.const:
                    written.append(p.type.to)
                elif isinstance(p.type, Struct):
                    return touched, None
        elif isinstance(e, Intrinsic):
            written += [a.type.to for a in e.args if isinstance(a.type, Pointer) and not a.type.const]
    return touched, written


def _note(e: Expr, touched: set[Var], written: list[Type] | None) -> None:
    root = root_var(e)
    if root is not None:
        touched.add(root)
    if written is not None and (root is None or root.ref or root.storage not in ("local", "param")):
        written.append(e.type)
