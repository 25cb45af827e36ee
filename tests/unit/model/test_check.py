"""Each rule of the checker is broken once."""

from __future__ import annotations

import pytest

from translator.model.check import problems
from translator.model.expr import (
    AddrOf,
    Assign,
    Binary,
    Call,
    Cast,
    Conditional,
    Construct,
    Decay,
    Deref,
    Expr,
    IncDec,
    Index,
    InitList,
    Literal,
    Logical,
    Member,
    PtrAdd,
    PtrDiff,
    Unary,
    Unsupported,
    Var,
    VarRef,
)
from translator.model.kernel import Function, Global, KernelModel
from translator.model.stmt import (
    Block,
    Break,
    Continue,
    Decl,
    DoWhile,
    ExprStmt,
    For,
    If,
    Return,
    Stmt,
    Switch,
    While,
)
from translator.model.types import BOOL, F32, I32, I64, U32, VOID, Array, Field, Pointer, Struct

PAIR = Struct("Pair", (Field("x", F32, 0), Field("y", F32, 4)), 8, 4)
N = Var(1, "n", I32, "param")
P = Var(2, "p", Pointer(F32), "param")
S = Var(3, "s", PAIR)
A = Var(4, "a", Array(F32, 4))
G = Var(5, "g", F32, "device")
X = Var(6, "x", I32, "param", ref=True)
ONE, F = Literal(1, I32), Literal(1.0, F32)
TRUE = Literal(True, BOOL)
n, p, s, a = VarRef(N), VarRef(P), VarRef(S), VarRef(A)
HELPER = Function("f", "f", (X,), I32, (Return(VarRef(X)),))


def check(*body: Stmt, functions: tuple[Function, ...] = (HELPER,)) -> list[str]:
    kernel = Function("k", "k", (N, P), VOID, (Decl(S), Decl(A), *body), is_kernel=True)
    return problems(KernelModel(kernel, functions, (Global(G),)))


def test_sound_model() -> None:
    i = Var(9, "i", I32)
    r = Var(10, "r", F32, ref=True)
    element = Index(Decay(a, Pointer(F32)), n, F32)
    body: tuple[Stmt, ...] = (
        For(
            (Decl(i, ONE),), Binary("<", VarRef(i), n, BOOL), IncDec(VarRef(i), "+", True, I32), (Continue(),)
        ),
        Decl(r, element),
        ExprStmt(Assign(element, "*", F, F32, compute=F32)),
        ExprStmt(Assign(VarRef(P), "+", n, Pointer(F32))),
        ExprStmt(Assign(n, "<<", ONE, I32, compute=I32)),
        ExprStmt(Call("f", (n,), I32)),
        Switch(n, ()),
        While(Logical("&&", TRUE, TRUE, BOOL), (Break(),)),
        DoWhile((ExprStmt(Assign(s, "", Construct(PAIR, (F, F)), PAIR)),), TRUE),
        ExprStmt(Assign(Member(s, "x", F32), "", VarRef(G), F32)),
        ExprStmt(PtrDiff(p, PtrAdd(p, n, Pointer(F32)), I64)),
        ExprStmt(AddrOf(Deref(p, F32), Pointer(F32))),
        Return(),
    )
    assert check(*body) == []


EXPRESSIONS: list[tuple[Expr, str]] = [
    (VarRef(Var(77, "ghost", I32)), "ghost is not declared here"),
    (Binary("+", n, F, I32), "i32 + f32 of type i32"),
    (Binary("<", n, F, BOOL), "compares i32 with f32"),
    (Binary("<", n, n, I32), "comparison of type i32"),
    (Binary("<<", F, n, F32), "shifts f32 by i32 to f32"),
    (Binary("**", n, n, I32), "binary operator **"),
    (Unary("!", n, BOOL), "! of a value that is no bool"),
    (Unary("+", n, I32), "unary operator +"),
    (Logical("||", n, TRUE, BOOL), "|| of i32 and bool"),
    (Conditional(n, ONE, ONE, I32), "condition of type i32"),
    (Conditional(TRUE, ONE, F, I32), "arms i32 and f32 of i32"),
    (Cast(s, F32), "cast of Pair to f32"),
    (Cast(p, F32), "cast of f32* to f32"),
    (Cast(F, Pointer(F32)), "cast of f32 to f32*"),
    (Index(n, n, F32), "element f32 of i32"),
    (Index(p, F, F32), "index of type f32"),
    (Deref(n, F32), "f32 behind i32"),
    (Member(s, "z", F32), "Pair has no member z"),
    (Member(s, "x", I32), "member x is f32, not i32"),
    (AddrOf(ONE, Pointer(I32)), "address of something that is no object"),
    (AddrOf(n, Pointer(F32)), "address of i32 of type f32*"),
    (Decay(n, Pointer(F32)), "decay of i32"),
    (PtrAdd(p, F, Pointer(F32)), "offset of type f32"),
    (PtrDiff(p, p, I32), "f32* - f32*"),
    (Assign(ONE, "", ONE, I32), "assignment to something that is no object"),
    (Assign(n, "", F, I32), "i32 = f32"),
    (Assign(n, "+", F, I32, compute=I32), "i32 += f32 in i32"),
    (Assign(p, "*", n, Pointer(F32)), "pointer *= i32"),
    (IncDec(ONE, "+", True, I32), "++ of i32"),
    (Construct(PAIR, (F,)), "1 values for 2 fields of Pair"),
    (Construct(PAIR, (F, ONE)), "field y: f32 from i32"),
    (InitList((F, F, F), PAIR), "3 values for Pair"),
    (Call("missing", (), I32), "calls missing, which is not in the model"),
    (Call("f", (), I32), "0 arguments for 1 parameters of f"),
    (Call("f", (ONE,), I32), "x is a reference, its argument no object"),
    (Call("f", (n,), U32), "call of type u32, f gives i32"),
    (Unsupported("CP1110", I32), "holds what was refused (CP1110)"),
]


@pytest.mark.parametrize(("e", "text"), EXPRESSIONS, ids=[t for _, t in EXPRESSIONS])
def test_expression(e: Expr, text: str) -> None:
    found = check(ExprStmt(e))
    assert len(found) == 1
    assert found[0].startswith("k: " + text)


STATEMENTS: list[tuple[Stmt, str]] = [
    (Break(), "break outside a loop or switch"),
    (Continue(), "continue outside a loop"),
    (If(n, ()), "condition of type i32"),
    (While(n, ()), "condition of type i32"),
    (Switch(F, ()), "switch on a value that is no integer"),
    (Return(ONE), "returns i32, declared void"),
    (Decl(S), "s is declared twice"),
    (Decl(Var(20, "v", VOID)), "v has type void"),
    (Decl(Var(21, "r", I32, ref=True), ONE), "reference r is bound to no object"),
    (Decl(Var(22, "r", I32, ref=True), Deref(p, F32)), "reference r to i32 is bound to f32"),
    (Decl(Var(23, "v", I32), F), "v: i32 is initialised by f32"),
    (Decl(Var(24, "t", I32, "shared"), ONE), "shared t has an initialiser"),
]


@pytest.mark.parametrize(("statement", "text"), STATEMENTS, ids=[t for _, t in STATEMENTS])
def test_statement(statement: Stmt, text: str) -> None:
    found = check(statement)
    assert len(found) == 1
    assert found[0].startswith("k: " + text)


def test_a_name_ends_with_its_block() -> None:
    v = Var(30, "v", I32)
    assert check(Block((Decl(v, ONE),)), ExprStmt(VarRef(v))) == ["k: v is not declared here: v"]


def test_functions_come_before_their_callers_and_have_one_symbol() -> None:
    caller = Function("g", "g", (), I32, (Return(Call("f", (VarRef(G),), I32)),))
    found = check(functions=(caller, HELPER, HELPER))
    assert found[0] == "two device functions share a symbol"
    assert found[1].startswith("g: calls f, which comes later")
    assert found[2].startswith("g: argument of type f32 for x: i32")
