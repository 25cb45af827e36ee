"""Which C `for` loops are counted loops: `for i in cutlass.range(start, stop, step)`.

A loop qualifies if nothing can tell the difference: the counter and everything its bound and step read
stay unchanged in the body, no `break` or `return` leaves it, the step is a constant, and the counter is
signed 32 or 64 bits (the DSL compares bounds signed).
"""

from __future__ import annotations

from dataclasses import replace

from translator.model import expr as x
from translator.model.expr import Expr, Var, VarRef
from translator.model.stmt import (
    Break,
    Decl,
    DoWhile,
    ExprStmt,
    For,
    ForRange,
    Return,
    Stmt,
    Switch,
    Unpack,
    While,
)
from translator.model.types import I32, I64, U32, Type
from translator.model.walk import bodies, walk_expr, walk_stmts
from translator.passes.ranges import range_of


def assigned(body: tuple[Stmt, ...]) -> set[Var]:
    """Register variables that `body` may change."""
    found: set[Var] = set()
    for s in walk_stmts(body):
        if isinstance(s, Decl):
            found.add(s.var)
        elif isinstance(s, Unpack):
            found |= {t.var for t in s.targets if isinstance(t, VarRef)}
        elif isinstance(s, ExprStmt) and isinstance(s.expr, x.Assign) and isinstance(s.expr.target, VarRef):
            found.add(s.expr.target.var)
        elif isinstance(s, ForRange):
            found.add(s.var)
    return found


def leaves_loop(body: tuple[Stmt, ...]) -> bool:
    """Whether a `break` of this loop or a `return` is in `body`."""
    for s in body:
        if isinstance(s, Break | Return):
            return True
        inner = bodies(s)
        if isinstance(s, For | While | DoWhile | ForRange | Switch):
            if any(isinstance(n, Return) for b in inner for n in walk_stmts(b)):
                return True
        elif any(leaves_loop(b) for b in inner):
            return True
    return False


def invariant(e: Expr, changed: set[Var]) -> bool:
    """Whether `e` has the same value all through a loop that changes `changed` (memory counts as changed)."""
    return all(
        isinstance(n, x.Literal | x.Special | x.Unary | x.Binary | x.Cast | x.Conditional | x.Logical)
        or (isinstance(n, VarRef) and n.var not in changed)
        or (isinstance(n, x.Intrinsic) and n.name in ("min", "max"))
        for n in walk_expr(e)
    )


def _start(init: tuple[Stmt, ...]) -> tuple[Var, Expr, bool] | None:
    """(counter, first value, declared here) if `init` only sets a counter."""
    if len(init) != 1:
        return None
    s = init[0]
    if isinstance(s, Decl) and s.init is not None:
        return s.var, s.init, True
    return None


def step_of(advance: tuple[Stmt, ...], counter: Var) -> tuple[Expr, int] | None:
    """(amount, sign) of `counter += amount` or `counter -= amount`."""
    if len(advance) != 1 or not isinstance(advance[0], ExprStmt):
        return None
    e = advance[0].expr
    if not (isinstance(e, x.Assign) and e.target == VarRef(counter, e.target.span)):
        return None
    value = e.value
    if isinstance(value, x.Cast) and value.operand.type in (U32, counter.type):
        value = value.operand
    if not (isinstance(value, x.Binary) and value.op in ("+", "-")):
        return None
    left = value.left.operand if isinstance(value.left, x.Cast) else value.left
    if not (isinstance(left, VarRef) and left.var == counter):
        if value.op == "+" and isinstance(value.right, VarRef) and value.right.var == counter:
            return value.left, 1
        return None
    return value.right, 1 if value.op == "+" else -1


def counted(s: For) -> ForRange | None:
    """The counted loop equal to `s`, or None."""
    begin = _start(s.init)
    if begin is None or not isinstance(s.cond, x.Binary) or leaves_loop(s.body):
        return None
    counter, start, _ = begin
    t = counter.type
    if t not in (I32, I64):
        return None
    step = step_of(s.advance, counter)
    if step is None:
        return None
    amount, sign = step
    changed = assigned(s.body)
    if counter in changed or not invariant(amount, changed | {counter}):
        return None
    cond = _signed_bound(s.cond, counter, start)
    if not (isinstance(cond.left, VarRef) and cond.left.var == counter):
        flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(cond.op)
        if flipped is None or not (isinstance(cond.right, VarRef) and cond.right.var == counter):
            return None
        cond = replace(cond, op=flipped, left=cond.right, right=cond.left)
    bound = cond.right
    if bound.type != t or not invariant(bound, changed | {counter}):
        return None
    known = int(amount.value) if isinstance(amount, x.Literal) else 0
    if known <= 0:
        return None  # the DSL turns a step it does not know at trace time into selects around the loop
    upward, downward = sign > 0, sign < 0
    if upward and cond.op in ("<", "<="):
        stop = bound if cond.op == "<" else _plus(bound, 1)
    elif downward and cond.op in (">", ">="):
        stop = bound if cond.op == ">" else _plus(bound, -1)
    else:
        return None
    if stop is None:
        return None
    step_by = x.Literal(sign * known, I32)
    return ForRange(counter, start, stop, step_by, s.body, s.unroll, s.span, s.comments)


def _signed_bound(cond: x.Binary, counter: Var, start: Expr) -> x.Binary:
    """`(unsigned)i < bound` as a signed comparison where both sides are surely below 2^31."""
    left, right = cond.left, cond.right
    mine = (
        isinstance(left, x.Cast) and left.type == U32 and left.operand == VarRef(counter, left.operand.span)
    )
    if not mine or cond.op not in ("<", "<="):
        return cond
    first, last = range_of(start, {}), range_of(right, {})
    if first is None or first[0] < 0 or last is None or last[0] < 0 or last[1] >= 1 << 31:
        return cond
    assert isinstance(left, x.Cast)
    return replace(cond, left=left.operand, right=_as(right, counter.type))


def _plus(e: Expr, k: int) -> Expr | None:
    """e + k; None where that could leave the type (`i <= INT_MAX` never ends)."""
    if isinstance(e, x.Literal):
        value = int(e.value) + k
        return replace(e, value=value, name="") if -(1 << 31) <= value < (1 << 31) else None
    op = "+" if k > 0 else "-"
    return x.Binary(op, e, x.Literal(abs(k), e.type), e.type, e.span)


def _as(e: Expr, t: Type) -> Expr:
    if e.type == t:
        return e
    return replace(e, type=t) if isinstance(e, x.Literal | x.Special) else x.Cast(e, t, e.span)
