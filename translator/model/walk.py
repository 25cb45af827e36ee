"""Generic visitors and rewriters over expressions and statements of the kernel model.

Rewriters return the same object where nothing changed, so `is` tells whether a pass did anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count
from operator import is_
from typing import Any

from translator.model.expr import (
    AddrOf,
    Assign,
    Binary,
    Bitcast,
    Call,
    Cast,
    Comma,
    Conditional,
    Construct,
    Decay,
    Deref,
    Element,
    Expr,
    IncDec,
    Index,
    InitList,
    Intrinsic,
    Literal,
    Logical,
    Member,
    PtrAdd,
    PtrDiff,
    Special,
    String,
    Tuple,
    Unary,
    Unsupported,
    Var,
    VarRef,
    VectorLoad,
)
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import (
    Block,
    Break,
    Case,
    Continue,
    Decl,
    DoWhile,
    ExprStmt,
    For,
    ForRange,
    If,
    Return,
    Stmt,
    Switch,
    Unpack,
    VectorStore,
    While,
)

# Operand fields in evaluation order as written; a field may hold one expression or a tuple of them.
OPERANDS: dict[type, tuple[str, ...]] = {
    Literal: (),
    String: (),
    VarRef: (),
    Special: (),
    Unsupported: (),
    Unary: ("operand",),
    Binary: ("left", "right"),
    Logical: ("left", "right"),
    Conditional: ("cond", "then", "other"),
    Cast: ("operand",),
    Bitcast: ("operand",),
    Index: ("base", "index"),
    Deref: ("pointer",),
    Member: ("object",),
    AddrOf: ("lvalue",),
    Decay: ("array",),
    PtrAdd: ("pointer", "offset"),
    PtrDiff: ("left", "right"),
    Assign: ("target", "value"),
    IncDec: ("target",),
    Comma: ("left", "right"),
    Construct: ("args",),
    InitList: ("items",),
    Call: ("args",),
    Intrinsic: ("args",),
    Element: ("indices",),
    Tuple: ("items",),
    VectorLoad: ("pointer",),
}

# Direct expressions and direct bodies of each statement. `For.init` is a body: its scope is the loop.
STMT_EXPRS: dict[type, tuple[str, ...]] = {
    Decl: ("init",),
    ExprStmt: ("expr",),
    If: ("cond",),
    For: ("cond", "step"),
    While: ("cond",),
    DoWhile: ("cond",),
    Switch: ("value",),
    Block: (),
    Break: (),
    Continue: (),
    Return: ("value",),
    ForRange: ("start", "stop", "step"),
    Unpack: ("targets", "value"),
    VectorStore: ("pointer", "values"),
}
STMT_BODIES: dict[type, tuple[str, ...]] = {
    Decl: (),
    ExprStmt: (),
    If: ("then", "other"),
    For: ("init", "body", "advance"),
    ForRange: ("body",),
    Unpack: (),
    VectorStore: (),
    While: ("body",),
    DoWhile: ("body", "advance"),
    Switch: (),  # its bodies are in the cases
    Block: ("body",),
    Break: (),
    Continue: (),
    Return: (),
}

_FLAT = frozenset(t for t, names in STMT_BODIES.items() if not names) - {Switch}

ExprMap = Callable[[Expr], Expr]
StmtMap = Callable[[Stmt], "Stmt | Iterable[Stmt]"]


def operands(e: Expr) -> tuple[Expr, ...]:
    """The direct operands of `e`, in order."""
    names = OPERANDS[type(e)]
    if not names:
        return ()
    if len(names) == 1:
        only = getattr(e, names[0])
        return only if isinstance(only, tuple) else (only,)
    return tuple([getattr(e, name) for name in names])  # several fields hold one expression each


def map_operands(e: Expr, f: ExprMap) -> Expr:
    """`e` with `f` applied to each direct operand (not to `e`)."""
    changes: dict[str, Any] = {}
    for name in OPERANDS[type(e)]:
        old = getattr(e, name)
        new = _mapped(old, f) if isinstance(old, tuple) else f(old)
        if new is not old:
            changes[name] = new
    return replace(e, **changes) if changes else e


def _mapped(old: tuple[Expr, ...], f: ExprMap) -> tuple[Expr, ...]:
    made = [f(x) for x in old]
    return old if all(map(is_, made, old)) else tuple(made)


def map_expr(e: Expr, f: ExprMap) -> Expr:
    """`e` rewritten bottom-up: operands first, then `f` on the rebuilt node."""

    def whole(x: Expr) -> Expr:
        return f(map_operands(x, whole) if OPERANDS[type(x)] else x)

    return whole(e)


def walk_expr(e: Expr) -> Iterator[Expr]:
    """`e` and all below it, parents before children, left to right."""
    stack = [e]
    while stack:
        top = stack.pop()
        yield top
        if inner := operands(top):
            stack += inner[::-1]


def stmt_exprs(s: Stmt) -> tuple[Expr, ...]:
    """The expressions that belong to `s` itself, not to the statements in it."""
    found: list[Expr] = []
    for name in STMT_EXPRS[type(s)]:
        value = getattr(s, name)
        if isinstance(value, tuple):
            found += value
        elif value is not None:
            found.append(value)
    return tuple(found)


def bodies(s: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The statement lists directly in `s` (`For.init` and each case of a switch among them)."""
    if isinstance(s, Switch):
        return tuple(c.body for c in s.cases)
    return tuple(getattr(s, name) for name in STMT_BODIES[type(s)])


def walk_stmts(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """All statements in `body`, nested ones too, in source order, parents first."""
    stack = list(body)[::-1]
    while stack:
        top = stack.pop()
        yield top
        if type(top) not in _FLAT:
            for inner in reversed(bodies(top)):
                stack += inner[::-1]


def walk_exprs(body: Iterable[Stmt]) -> Iterator[Expr]:
    """All expressions of all statements in `body`, sub-expressions included."""
    for s in walk_stmts(body):
        stack = list(stmt_exprs(s)[::-1])
        while stack:
            top = stack.pop()
            yield top
            if inner := operands(top):
                stack += inner[::-1]


def map_bodies(s: Stmt, f: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Stmt:
    """`s` with `f` applied to each direct statement list (`For.init` included)."""
    if isinstance(s, Switch):
        cases = tuple(_with_body(c, f(c.body)) for c in s.cases)
        return s if all(a is b for a, b in zip(s.cases, cases, strict=True)) else replace(s, cases=cases)
    changes: dict[str, Any] = {}
    for name in STMT_BODIES[type(s)]:
        old = getattr(s, name)
        new = f(old)
        if new is not old:
            changes[name] = new
    return replace(s, **changes) if changes else s


def _with_body(case: Case, body: tuple[Stmt, ...]) -> Case:
    return case if body is case.body else replace(case, body=body)


def map_stmts(body: tuple[Stmt, ...], f: StmtMap) -> tuple[Stmt, ...]:
    """`body` rewritten bottom-up; `f` gives one statement or several (none removes it)."""

    def whole(b: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for s in b:
            result = f(s if type(s) in _FLAT else map_bodies(s, whole))
            if isinstance(result, tuple | list):
                made += result
            else:
                made.append(result)  # type: ignore[arg-type]
        return b if len(made) == len(b) and all(map(is_, made, b)) else tuple(made)

    return whole(body)


def map_stmt_exprs(s: Stmt, f: ExprMap) -> Stmt:
    """`s` with `f` applied once to each of its own top-level expressions (not to nested statements)."""
    changes: dict[str, Any] = {}
    for name in STMT_EXPRS[type(s)]:
        old = getattr(s, name)
        if old is None:
            continue
        new = _mapped(old, f) if isinstance(old, tuple) else f(old)
        if new is not old:
            changes[name] = new
    return replace(s, **changes) if changes else s


def map_exprs(body: tuple[Stmt, ...], f: ExprMap) -> tuple[Stmt, ...]:
    """Each expression of each statement in `body`, nested ones too, rewritten bottom-up by `f`."""
    return map_stmts(body, lambda s: map_stmt_exprs(s, lambda e: map_expr(e, f)))


def map_functions(model: KernelModel, f: Callable[[Function], Function]) -> KernelModel:
    """`model` with `f` applied to its device functions and then its kernel."""
    functions = tuple(f(x) for x in model.functions)
    kernel = f(model.kernel)
    if kernel is model.kernel and all(a is b for a, b in zip(functions, model.functions, strict=True)):
        return model
    return replace(model, functions=functions, kernel=kernel)


def declared(body: Iterable[Stmt]) -> Iterator[Var]:
    """Variables declared anywhere in `body`, in source order."""
    for s in walk_stmts(body):
        if isinstance(s, Decl):
            yield s.var


def fresh_uids(model: KernelModel) -> Iterator[int]:
    """Numbers for new variables: above every one that `model` declares, mentions or counts loops with."""
    highest = max((g.var.uid for g in model.globals), default=0)
    for f in (*model.functions, model.kernel):
        counters = (s.var for s in walk_stmts(f.body) if isinstance(s, ForRange))
        highest = max([highest, *(v.uid for v in (*f.params, *declared(f.body), *used(f.body), *counters))])
    return count(highest + 1)


def used(body: Iterable[Stmt]) -> set[Var]:
    """Variables mentioned by an expression in `body`."""
    return {e.var for e in walk_exprs(body) if isinstance(e, VarRef | Element)}


def root_var(e: Expr) -> Var | None:
    """The variable whose own storage the lvalue `e` is in; None if it is reached through a pointer."""
    while True:
        if isinstance(e, VarRef):
            return e.var
        if isinstance(e, Member):
            e = e.object
        elif isinstance(e, Index) and isinstance(e.base, Decay):
            e = e.base.array
        else:
            return None
