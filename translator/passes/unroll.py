"""Writes short stepped loops so that they unroll as nvcc unrolls them.

`for (c = t; c < n; c += 32)` can't wrap in C++, where signed overflow is undefined, but in the DSL's loop it
can: its compiler then doesn't know how often the loop runs and keeps an exit after every element, so that no
two loads are in flight together. Counted from zero by one, the number of rounds is plain, and the compiler
unrolls by its own judgement: sixteenfold where the body only loads. `unroll=4` would forbid it more than four
(a layer norm had 4 loads in flight instead of 16 and ran at 0.85 of the original's speed).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from translator.mapping.resolve import resolve
from translator.model import expr as x
from translator.model import stmt as st
from translator.model.expr import Expr, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, ForRange, Stmt
from translator.model.types import I32, I64, Type
from translator.model.walk import fresh_uids, map_functions, map_stmts, walk_exprs, walk_stmts
from translator.passes.integers import known_ranges
from translator.passes.loops import assigned, invariant
from translator.passes.ranges import Range, is_index

STATEMENTS = 12  # a body up to this long is short


def _short(s: ForRange) -> bool:
    """An innermost loop by a constant step above one, of unknown length, with little and no barrier in it."""
    stepped = isinstance(s.step, x.Literal) and s.step.value > 1
    known = isinstance(s.start, x.Literal) and isinstance(s.stop, x.Literal)
    if not stepped or known or s.unroll is not None:
        return False
    inner = list(walk_stmts(s.body))
    if len(inner) > STATEMENTS or any(isinstance(n, ForRange | st.While) for n in inner):
        return False
    return not any(_waits(e) for e in walk_exprs(s.body))


def _waits(e: Expr) -> bool:
    if not isinstance(e, x.Intrinsic):
        return False
    types = e.arg_types or tuple(a.type for a in e.args)
    rule = resolve(e.name, types, e.type, consts=tuple(None for _ in types))
    return rule is not None and "sync" in rule.effects


def _from_zero(s: ForRange, uids: Iterator[int], known: Mapping[Var, Range]) -> Stmt:
    if not _short(s) or not invariant(s.start, assigned(s.body) | {s.var}):
        return s
    assert isinstance(s.step, x.Literal)
    t, step = s.var.type, int(s.step.value)
    wide, reach = t, s.stop
    if not (isinstance(s.start, x.Literal) and s.start.value == 0):
        if t == I32 and not is_index(s.start, known):  # from below zero, the distance may exceed 31 bits
            wide = I64
        reach = x.Binary("-", _as(s.stop, wide), _as(s.start, wide), wide)
    reach = x.Binary("+", reach, x.Literal(step - 1, wide), wide)
    rounds = _as(x.Binary("/", reach, x.Literal(step, wide), wide), t)
    counter = Var(next(uids), f"{s.var.name}_round", t, span=s.var.span)
    value: Expr = x.Binary("*", VarRef(counter), x.Literal(step, t), t)
    if not (isinstance(s.start, x.Literal) and s.start.value == 0):
        value = x.Binary("+", s.start, value, t)
    body = (Decl(s.var, value, s.span), *s.body)
    zero, one = x.Literal(0, t), x.Literal(1, I32)
    return replace(s, var=counter, start=zero, stop=rounds, step=one, body=body)


def _as(e: Expr, t: Type) -> Expr:
    return e if e.type == t else x.Cast(e, t, e.span)


def unroll_stepped(model: KernelModel) -> KernelModel:
    """`model` with its short stepped loops counted from zero."""
    uids = fresh_uids(model)

    def function(f: Function) -> Function:
        known = known_ranges(f)
        body = map_stmts(f.body, lambda s: _from_zero(s, uids, known) if isinstance(s, ForRange) else s)
        return f if body is f.body else replace(f, body=body)

    return map_functions(model, function)
