"""Which bytes of each buffer a kernel touches: largest index of every access as a bound over sizes.

A forward walk over the kernel with device functions inlined. Guards (`if (i < n)`, early returns, loop
conditions) bound variables; the launch bounds `threadIdx` and `blockIdx`. What can't be bounded is left
unknown, never guessed. Overflow of index arithmetic is not modelled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from translator.analysis import values as v
from translator.analysis.bounds import (
    Accesses,
    Env,
    Evaluator,
    Shape,
    bare,
    deep,
    forget,
    parameter,
    read_from,
)
from translator.analysis.poly import Poly
from translator.analysis.values import LOADED, TOP, Address, Value, const
from translator.model import expr as x
from translator.model.expr import Expr, Var
from translator.model.kernel import KernelModel
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
)  # fmt: skip
from translator.model.types import Pointer, Scalar
from translator.model.walk import operands, stmt_exprs, walk_exprs, walk_stmts

__all__ = ["Accesses", "Shape", "accesses"]

_STEPS = 60_000  # statements walked before the analysis gives up


def accesses(model: KernelModel, shape: Shape) -> Accesses:
    """The accesses of `model` launched as `shape`; offsets are in bytes over parameter names.

    A field of a struct passed by value is the symbol `param_field`.
    """
    walk = _Walk(model, shape)
    env: Env = {}
    for p in model.kernel.params:
        if isinstance(p.type, Pointer):
            env[p] = Address(p.name, const(0))
        elif isinstance(p.type, Scalar) and p.type.is_integer:
            env[p] = parameter(p.name, p)
    walk.body(model.kernel.body, env, 0)
    return walk.found


class _Walk(Evaluator):
    def __init__(self, model: KernelModel, shape: Shape) -> None:
        super().__init__(model, shape)
        self.steps = 0
        self.stable, self.counters = _stable(model)
        self.loops: list[Poly | None] = []

    # ---- statements; each gives the environment after it, None if control doesn't get there

    def body(self, statements: Iterable[Stmt], env: Env | None, depth: int) -> Env | None:
        for s in statements:
            if env is None:
                return None
            self.steps += 1
            if self.steps > _STEPS:
                self.found.complete = False
                return None
            env = self._statement(s, env, depth)
        return env

    def _statement(self, s: Stmt, env: Env, depth: int) -> Env | None:
        if isinstance(s, Decl):
            if s.init is not None:
                copied = self.argument_struct(s.init, env, depth)
                value = (
                    self.place(s.init, env, depth) if s.var.ref else copied or self.eval(s.init, env, depth)
                )
                env[s.var] = replace(value, offset_of=(s.var, 0)) if isinstance(value, Value) else value
                if s.var not in self.counters and _redoable(s, self.stable):
                    self.definitions[s.var] = s.init
            return env
        if isinstance(s, ExprStmt):
            self.eval(s.expr, env, depth)
            return env
        if isinstance(s, If):
            return self._if(s, env, depth)
        if isinstance(s, For):
            start = self.body(s.init, dict(env), depth)
            return env if start is None else self._loop(s.cond, s.body, s.step, start, depth)
        if isinstance(s, While):
            return self._loop(s.cond, s.body, None, env, depth)
        if isinstance(s, DoWhile):
            widened = self._widen(env, s.body, s.cond, depth)
            self.guards = None if _leaves(s.body) else self.guards
            after = self.body(s.body, dict(widened), depth)
            self.eval(s.cond, dict(after if after is not None else widened), depth)
            return widened
        if isinstance(s, Switch):
            self.eval(s.value, env, depth)
            joined: Env | None = dict(env)
            before, self.guards = self.guards, None
            for case in s.cases:
                joined = _merge(joined, self.body(case.body, dict(env), depth))
            self.guards = None if _leaves((s,), Return, Continue) else before
            return self._widen(joined or env, (s,), None, depth)
        if isinstance(s, Block):
            return self.body(s.body, env, depth)
        if isinstance(s, Return):
            if s.value is not None:
                self.returned.append(self.eval(s.value, env, depth))
            return None
        if isinstance(s, Break | Continue):
            return None
        for e in stmt_exprs(s):
            self.eval(e, env, depth)
        return env

    def _if(self, s: If, env: Env, depth: int) -> Env | None:
        self.eval(s.cond, env, depth)
        before = self.guards
        guards = [self.under(before, s.cond, holds, env, depth) for holds in (True, False)]
        self.guards = guards[0]
        then = self._branch(s.cond, True, s.then, env, depth)
        self.guards = guards[1]
        other = self._branch(s.cond, False, s.other, env, depth)
        if then is None and other is not None:
            self.guards = None if _leaves(s.other) else guards[1]
        elif other is None and then is not None:
            self.guards = None if _leaves(s.then) else guards[0]
        else:
            self.guards = None if _leaves(s.then) or _leaves(s.other) else before
        return _merge(then, other)

    def _branch(self, cond: Expr, holds: bool, body: Iterable[Stmt], env: Env, depth: int) -> Env | None:
        before = self.divided
        self.divided |= self._divided(cond, holds, env, depth)
        after = self.body(body, self.refine(cond, holds, dict(env), depth), depth)
        self.divided = before
        return after

    def _divided(self, cond: Expr, holds: bool, env: Env, depth: int) -> frozenset[tuple[str, int]]:
        """Sizes of which `cond` says that they are multiples of a number, with the number."""
        none: frozenset[tuple[str, int]] = frozenset()
        cond = bare(cond)
        if isinstance(cond, x.Unary) and cond.op == "!":
            return self._divided(cond.operand, not holds, env, depth)
        if isinstance(cond, x.Logical):
            sides = [self._divided(side, holds, env, depth) for side in (cond.left, cond.right)]
            return sides[0] | sides[1] if (cond.op == "&&") == holds else none
        rest: Expr = cond
        if isinstance(cond, x.Binary) and cond.op in ("==", "!="):
            if self._number(cond.right, env, depth) != 0:
                return none
            rest, holds = bare(cond.left), holds == (cond.op == "!=")
        if holds or not isinstance(rest, x.Binary) or rest.op not in ("%", "&"):
            return none
        by, of = self._number(rest.right, env, depth), self.quiet(rest.left, env, depth)
        if by is not None and rest.op == "&":
            by = by + 1 if by & (by + 1) == 0 else None
        if not by or not isinstance(of, Value) or of.exact is None:
            return none
        alone = [name for name in of.exact.symbols if of.exact == Poly.symbol(name)]
        return frozenset((name, by) for name in alone)

    def _number(self, e: Expr, env: Env, depth: int) -> int | None:
        value = self.quiet(e, env, depth)
        return value.exact.constant if isinstance(value, Value) and value.exact is not None else None

    def _loop(
        self, cond: Expr | None, body: tuple[Stmt, ...], step: Expr | None, env: Env, depth: int
    ) -> Env | None:
        if cond is not None:
            self.refine(cond, True, dict(env), depth)  # the first round tells what the grid covers
        changed = self._widen(env, body, cond, depth, step)
        inside = dict(changed)
        before = self.guards
        self.guards = None if cond is None else self.under(before, cond, True, inside, depth)
        self.guards = None if _leaves(body) else self.guards
        if cond is not None:
            self._note_bound(cond, inside, depth)
            self.eval(cond, inside, depth)
            inside = self.refine(cond, True, inside, depth)
        self.loops.append(self._trips(cond, step, inside, depth))
        self._note_work()
        after = self.body(body, inside, depth)
        self.loops.pop()
        if step is not None:
            self.eval(step, dict(after if after is not None else changed), depth)
        self.guards = None if _leaves(body, Return) else before
        return changed if cond is None else self.refine(cond, False, dict(changed), depth)

    def _widen(
        self, env: Env, body: tuple[Stmt, ...], cond: Expr | None, depth: int, step: Expr | None = None
    ) -> Env:
        """`env` with what a loop changes made unknown, but for the side a counter starts from."""
        made = dict(env)
        changes: dict[Var, list[Expr]] = {}
        parts = list(walk_exprs(body)) + [e for t in (cond, step) if t is not None for e in deep(t)]
        for e in parts:
            if isinstance(e, x.Assign | x.IncDec) and isinstance(e.target, x.VarRef):
                changes.setdefault(e.target.var, []).append(e)
            elif isinstance(e, x.AddrOf) and isinstance(e.lvalue, x.VarRef):
                changes.setdefault(e.lvalue.var, []).append(e)
            elif isinstance(e, x.Call):
                for a in e.args:
                    if isinstance(a, x.VarRef) and not isinstance(a.var.type, Pointer):
                        self._by_reference(e, a, changes)
        for var, edits in changes.items():
            forget(made, var)
            old = made.get(var)
            if isinstance(old, Address):
                made[var] = Address(old.root if self._same_root(old, edits, env, depth) else "", TOP)
            elif isinstance(old, Value):
                ways = {_direction(e, var) for e in edits}
                lo = old.lo if ways == {"up"} else Poly() if ways == {"down"} else None
                hi = old.hi if ways == {"down"} else None
                stride = self._stride(var, old, edits, body, step, env, depth)
                origins = read_from(old, var).origins | {(f"{var.name}#{var.uid}", var)}
                made[var] = Value(lo, hi, None, (var, 0), old.loads, step=stride, origins=origins)
        return made

    def _stride(
        self,
        var: Var,
        start: Value,
        edits: list[Expr],
        body: Iterable[Stmt],
        step: Expr | None,
        env: Env,
        depth: int,
    ) -> Poly | None:
        """How far apart the values of a counter are, which starts at `start` in different threads."""
        always = [step, *(s.expr for s in body if isinstance(s, ExprStmt))]
        if len(edits) != 1 or not any(edits[0] is e for e in always) or _direction(edits[0], var) != "up":
            return None
        edit = edits[0]
        if isinstance(edit, x.IncDec):
            by: v.Known = const(1)
        elif isinstance(edit, x.Assign) and edit.op == "+":
            by = self.quiet(edit.value, env, depth)
        else:
            return None
        if not isinstance(by, Value) or by.exact is None:
            return None
        if start.step == Poly():
            return by.exact
        return v.ONE if v.fills(start, by.exact) or (start.dense and by.exact == v.ONE) else None

    def _by_reference(self, call: x.Call, arg: x.VarRef, changes: dict[Var, list[Expr]]) -> None:
        callee = self.functions.get(call.symbol)
        for p, a in zip(callee.params if callee else (), call.args, strict=False):
            if a is arg and p.ref:
                changes.setdefault(arg.var, []).append(call)

    def _same_root(self, old: Address, edits: list[Expr], env: Env, depth: int) -> bool:
        for e in edits:
            if isinstance(e, x.Assign) and not e.op:
                base = _pointer_base(e.value)
                known = env.get(base) if base is not None else None
                if not isinstance(known, Address) or known.root != old.root:
                    return False
        return True

    def _note_bound(self, cond: Expr, env: Env, depth: int) -> None:
        for e in deep(cond):
            if isinstance(e, x.Binary) and e.op in ("<", ">", "<=", ">=", "!="):
                for side in (e.left, e.right):
                    value = self.quiet(side, env, depth)
                    if isinstance(value, Value) and value.hi is not None:
                        loaded = {s[1:] for s in value.hi.symbols if s.startswith(LOADED)}
                        self.found.loop_bounds |= loaded

    def _trips(self, cond: Expr | None, step: Expr | None, env: Env, depth: int) -> Poly | None:
        """How often a loop runs at most; None for a loop over the whole grid, whose rounds share the work."""
        if step is None or cond is None or not isinstance(bare(cond), x.Binary):
            return None
        if any(isinstance(e, x.Special) for e in self._meaning(step)):
            return None
        known = [self.quiet(o, env, depth) for o in operands(bare(cond))]
        bounds = [k.hi for k in known if isinstance(k, Value) and k.exact is not None and k.hi is not None]
        return bounds[0] if bounds else None

    def _meaning(self, e: Expr) -> Iterable[Expr]:
        for part in deep(e):
            yield part
            if isinstance(part, x.VarRef) and part.var in self.definitions:
                yield from self._meaning(self.definitions[part.var])

    def _note_work(self) -> None:
        work = Poly.const(1)
        for trips in self.loops:
            if trips is not None and not trips.too_big():
                work = work * trips
        if work.constant is None and not any(s[0] == LOADED for s in work.symbols):
            self.found.work.add(work)


def _leaves(body: Iterable[Stmt], *kinds: type) -> bool:
    """Whether threads may leave from inside `body`, before its end."""
    return any(isinstance(s, kinds or (Return, Break, Continue)) for s in walk_stmts(body))


def _merge(a: Env | None, b: Env | None) -> Env | None:
    if a is None or b is None:
        return b if a is None else a
    made: Env = {}
    for var in a.keys() & b.keys():
        one, other = a[var], b[var]
        made[var] = one if one == other else v.join(one, other)
        joined = made[var]
        if isinstance(var, Var) and isinstance(joined, Value) and joined.offset_of is None:
            made[var] = replace(joined, offset_of=(var, 0))
    return made


def _direction(e: Expr, var: Var) -> str:
    """ "up" or "down" if `e` only raises or lowers `var`, else ""."""
    if isinstance(e, x.IncDec):
        return "up" if e.op == "+" else "down"
    if isinstance(e, x.Assign):
        if e.op in ("+", "*", "<<"):
            return "up"
        if e.op in ("-", "/", ">>"):
            return "down"
        value = bare(e.value)
        if not e.op and isinstance(value, x.Binary) and isinstance(bare(value.left), x.VarRef):
            left = bare(value.left)
            if isinstance(left, x.VarRef) and left.var == var:
                return (
                    "up" if value.op in ("+", "*", "<<") else "down" if value.op in ("-", "/", ">>") else ""
                )
    return ""


def _stable(model: KernelModel) -> tuple[set[Var], set[Var]]:
    """Variables that nothing but the head of a `for` changes, and those that such a head does change."""
    changed: set[Var] = set()
    heads: set[int] = set()
    counters: set[Var] = set()
    for f in (model.kernel, *model.functions):
        for s in walk_stmts(f.body):
            if isinstance(s, For) and s.step is not None:
                heads.update(id(e) for e in deep(s.step))
        for e in walk_exprs(f.body):
            if isinstance(e, x.Assign | x.IncDec) and isinstance(e.target, x.VarRef):
                (counters if id(e) in heads else changed).add(e.target.var)
            elif isinstance(e, x.AddrOf) and isinstance(e.lvalue, x.VarRef):
                changed.add(e.lvalue.var)
    bodies = [f.body for f in (model.kernel, *model.functions)]
    seen = {e.var for b in bodies for e in walk_exprs(b) if isinstance(e, x.VarRef)}
    return seen - changed, counters


def _redoable(s: Decl, stable: set[Var]) -> bool:
    """True if the initialiser can be evaluated again later and mean the same."""
    if s.init is None or s.var not in stable or not isinstance(s.var.type, Scalar):
        return False
    for e in deep(s.init):
        if isinstance(e, x.VarRef):
            if e.var not in stable or e.var.ref or e.var.storage not in ("local", "param"):
                return False
        elif not isinstance(e, x.Literal | x.Special | x.Binary | x.Cast | x.Conditional | x.Unary):
            return False
    return True


def _pointer_base(e: Expr) -> Var | None:
    while isinstance(e, x.PtrAdd | x.Cast | x.Conditional):
        e = e.pointer if isinstance(e, x.PtrAdd) else e.operand if isinstance(e, x.Cast) else e.then
    return e.var if isinstance(e, x.VarRef) else None
