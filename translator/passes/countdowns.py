"""Loops of a port that its compiler gets wrong: which they are was measured (verify/canaries/README.md).

CuTe DSL 4.8.1 makes wrong machine code, at its default level and at 2, of a `while` loop whose signed counter
goes down by 2 or more to a negated run-time bound. At level 1 it is right, and as a counted loop.
"""

from __future__ import annotations

from translator.diag.diagnostic import Sink
from translator.model import expr as x
from translator.model.expr import Expr, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, Stmt, While
from translator.model.types import I32, I64
from translator.model.walk import bodies, walk_stmts
from translator.passes.loops import assigned, invariant, leaves_loop, step_of

_RIGHT = 1  # the highest level at which they are right
_LEAST = 2  # of the step; by 1 they are right
_MIRRORED = {"<": ">", "<=": ">="}


def right_level(model: KernelModel, sink: Sink, wanted: int | None) -> int | None:
    """The level to pin for a lowered model: the one `wanted`, else a right one where it has such loops, which
    CP3008 tells, else none."""
    found = miscompiled(model)
    if not found or (wanted is not None and wanted <= _RIGHT):
        return wanted
    level = _RIGHT if wanted is None else wanted
    said = "pinned to --opt-level {}" if wanted is None else "--opt-level {} is kept as asked for"
    for s in found:
        sink.report("CP3008", s.span, pinned=said.format(level))
    return level


def miscompiled(model: KernelModel) -> list[While]:
    """Such loops of a lowered model, in its order."""
    return [
        s
        for f in (*model.functions, model.kernel)
        for s in walk_stmts(f.body)
        if isinstance(s, While) and _counts_down(s, f)
    ]


def _counts_down(s: While, function: Function) -> bool:
    cond = s.cond
    if not isinstance(cond, x.Binary) or leaves_loop(s.body):
        return False
    left, op, right = cond.left, cond.op, cond.right
    if op in _MIRRORED:
        left, op, right = right, _MIRRORED[op], left
    if op not in (">", ">=") or not isinstance(left, VarRef) or left.type not in (I32, I64):
        return False
    return (
        _step(s.body, left.var) >= _LEAST
        and invariant(right, assigned(s.body) | {left.var})
        and _negated(right, function)
    )


def _step(body: tuple[Stmt, ...], counter: Var) -> int:
    """By how much each turn lowers the counter; 0 where that is not plain."""
    changes = _changes(body, counter)
    if len(changes) != 1 or not any(changes[0] is s for s in body):
        return 0
    step = step_of((changes[0],), counter)
    if step is None or not isinstance(step[0], x.Literal):
        return 0
    return -step[1] * int(step[0].value)


def _changes(body: tuple[Stmt, ...], var: Var) -> list[Stmt]:
    return [s for s in walk_stmts(body) if not bodies(s) and var in assigned((s,))]


def _negated(e: Expr, function: Function) -> bool:
    """Whether `e` is minus something that is known at run time only."""
    if isinstance(e, x.Unary) and e.op == "-":
        return not isinstance(e.operand, x.Literal)
    if isinstance(e, x.Binary) and e.op == "-":
        return isinstance(e.left, x.Literal) and e.left.value == 0 and not isinstance(e.right, x.Literal)
    if isinstance(e, VarRef):
        made = _changes(function.body, e.var)
        only = made[0] if len(made) == 1 else None
        return isinstance(only, Decl) and only.init is not None and _negated(only.init, function)
    return False
