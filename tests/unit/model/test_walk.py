"""Generic visitors and rewriters of the kernel model."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_args

from translator.model import expr, stmt, walk
from translator.model.expr import (
    Assign,
    Binary,
    Call,
    Conditional,
    Decay,
    Expr,
    Index,
    Literal,
    Member,
    Var,
    VarRef,
)
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Case, Decl, ExprStmt, For, If, Return, Stmt, Switch
from translator.model.types import BOOL, F32, I32, VOID, Array, Field, Pointer, Struct

N = Var(1, "n", I32, "param")
I = Var(2, "i", I32)  # noqa: E741
A = Var(3, "a", Array(F32, 4))
P = Var(4, "p", Pointer(F32), "param")


def lit(v: int) -> Literal:
    return Literal(v, I32)


LOOP = For(
    (Decl(I, lit(0)),),
    Binary("<", VarRef(I), VarRef(N), BOOL),
    Assign(VarRef(I), "+", lit(1), I32, compute=I32),
    (If(Literal(True, BOOL), (ExprStmt(VarRef(N)),), (Return(),)),),
)
SWITCH = Switch(VarRef(N), (Case((1,), False, (ExprStmt(lit(5)),)), Case((), True, (Return(lit(6)),))))


def names(union: str) -> set[str]:
    return {x.strip() for x in union.split("|")}


def test_every_node_is_known() -> None:
    assert names(str(expr.Expr)) == {t.__name__ for t in walk.OPERANDS}
    assert (
        names(str(stmt.Stmt))
        == {t.__name__ for t in walk.STMT_EXPRS}
        == {t.__name__ for t in walk.STMT_BODIES}
    )
    assert not get_args(expr.Expr)


def test_tables_name_real_fields() -> None:
    for table in (walk.OPERANDS, walk.STMT_EXPRS, walk.STMT_BODIES):
        for node, parts in table.items():
            assert set(parts) <= {f.name for f in fields(node)}


def test_operands_in_order() -> None:
    e = Conditional(Literal(True, BOOL), lit(1), Call("f", (lit(2), lit(3)), I32), I32)
    assert [x.value for x in walk.walk_expr(e) if isinstance(x, Literal)] == [True, 1, 2, 3]


def test_walk_statements_and_expressions_in_source_order() -> None:
    kinds = [type(s).__name__ for s in walk.walk_stmts((LOOP, SWITCH))]
    assert kinds == ["For", "Decl", "If", "ExprStmt", "Return", "Switch", "ExprStmt", "Return"]
    literals = [e.value for e in walk.walk_exprs((LOOP, SWITCH)) if isinstance(e, Literal)]
    assert literals == [1, 0, True, 5, 6]
    assert list(walk.declared((LOOP,))) == [I]
    assert walk.used((LOOP, SWITCH)) == {I, N}


def test_rewriting_nothing_gives_the_same_objects() -> None:
    body: tuple[Stmt, ...] = (LOOP, SWITCH)
    assert walk.map_exprs(body, lambda e: e) is body
    assert walk.map_stmts(body, lambda s: s) is body
    model = KernelModel(Function("k", "k", (N,), VOID, body))
    assert walk.map_functions(model, lambda f: f) is model


def test_rewrite_expressions_bottom_up() -> None:
    def double(e: Expr) -> Expr:
        return replace(e, value=e.value * 2) if isinstance(e, Literal) and e.type == I32 else e

    made = walk.map_exprs((LOOP, SWITCH), double)
    assert [e.value for e in walk.walk_exprs(made) if isinstance(e, Literal)] == [2, 0, True, 10, 12]


def test_rewrite_statements_into_none_and_several() -> None:
    def change(s: Stmt) -> Stmt | list[Stmt]:
        if isinstance(s, Return):
            return []
        return [s, s] if isinstance(s, ExprStmt) else s

    made = walk.map_stmts((LOOP, SWITCH), change)
    assert [type(s).__name__ for s in walk.walk_stmts(made)] == (
        ["For", "Decl", "If", "ExprStmt", "ExprStmt", "Switch", "ExprStmt", "ExprStmt"]
    )


def test_root_variable() -> None:
    pair = Struct("Pair", (Field("x", Array(F32, 4), 0),), 16, 4)
    s = Var(5, "s", pair)
    element = Index(Decay(Member(VarRef(s), "x", Array(F32, 4)), Pointer(F32)), lit(1), F32)
    assert walk.root_var(element) == s
    assert walk.root_var(Index(Decay(VarRef(A), Pointer(F32)), lit(0), F32)) == A
    assert walk.root_var(Index(VarRef(P), lit(0), F32)) is None
