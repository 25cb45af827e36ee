"""Keeps guarded loads independent of each other.

`if (t == 0) s[0] = a[…]; if (t == 31) s[33] = a[…];` is two short guards that the machine runs as predicated
loads, all in flight at once. The DSL's optimiser sees that `t` can't be both and makes one chain of
branches, in which each load waits for the one before (a five-point stencil ran at 0.75 of its speed).
From the second guard on, the tested value is therefore hidden from it.
"""

from __future__ import annotations

from dataclasses import replace

from translator.diag.diagnostic import NOWHERE
from translator.model import expr as x
from translator.model.expr import Expr
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import If, Stmt
from translator.model.types import I32
from translator.model.walk import map_bodies, map_functions, walk_exprs
from translator.passes.loops import assigned

OPAQUE = "opaque"


def _tested(s: Stmt) -> tuple[Expr, int] | None:
    """The value an else-less, loading `if (value == constant)` tests, and the constant."""
    if not isinstance(s, If) or s.other or not isinstance(s.cond, x.Binary) or s.cond.op != "==":
        return None
    value, constant = s.cond.left, s.cond.right
    if value.type != I32 or not isinstance(constant, x.Literal):
        return None
    if not isinstance(value, x.VarRef | x.Special):
        return None
    loads = any(isinstance(e, x.Index | x.VectorLoad) for e in walk_exprs(s.then))
    return (replace(value, span=NOWHERE), int(constant.value)) if loads else None


def separate(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` with the tests of guards that follow each other made opaque."""
    seen: list[tuple[Expr, int]] = []
    made: list[Stmt] = []
    for s in body:
        s = map_bodies(s, separate)
        guard = _tested(s)
        if guard is None:
            seen = []  # something else in between keeps the branches apart
        elif isinstance(s, If) and isinstance(s.cond, x.Binary):
            if any(value == guard[0] and constant != guard[1] for value, constant in seen):
                hidden = x.Intrinsic(OPAQUE, (s.cond.left,), I32, s.span)
                s = replace(s, cond=replace(s.cond, left=hidden))
            changed = assigned((s,))
            seen = [v for v in [*seen, guard] if not (isinstance(v[0], x.VarRef) and v[0].var in changed)]
        made.append(s)
    same = all(a is b for a, b in zip(body, made, strict=True))
    return body if same else tuple(made)


def keep_apart(model: KernelModel) -> KernelModel:
    """`model` with independent guards kept independent."""

    def function(f: Function) -> Function:
        body = separate(f.body)
        return f if body is f.body else replace(f, body=body)

    return map_functions(model, function)
