"""Which bytes of each buffer a kernel touches: largest index of every access as a bound over sizes.

A forward walk over the kernel with device functions inlined. Guards (`if (i < n)`, early returns, loop
conditions) bound variables; the launch bounds `threadIdx` and `blockIdx`. What can't be bounded is left
unknown, never guessed. Overflow of index arithmetic is not modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from translator.analysis import values as v
from translator.analysis.poly import Poly
from translator.analysis.values import LAUNCHED, LOADED, TOP, Access, Address, Known, Value, const, exact
from translator.diag.diagnostic import NOWHERE
from translator.model import expr as x
from translator.model.expr import Expr, Var
from translator.model.kernel import Function, KernelModel
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
from translator.model.types import Array, Pointer, Scalar, Struct, Type
from translator.model.walk import map_operands, operands, stmt_exprs, walk_exprs, walk_stmts

# What is known of variables, and upper bounds of guarded expressions that are no variable.
Env: TypeAlias = "dict[Var | Expr, Known]"
_DEPTH = 6  # device functions inlined into each other
_STEPS = 60_000  # statements walked before the analysis gives up
_SMALL = 8  # bits: a loaded integer this narrow is bounded by its type


@dataclass(frozen=True, slots=True)
class Shape:
    """The launch as polynomials: number of blocks and threads on each axis."""

    grid: tuple[Poly, Poly, Poly]
    block: tuple[Poly, Poly, Poly]


@dataclass(slots=True)
class Accesses:
    """`accesses` of the kernel's buffers; `loop_bounds` are buffers whose values bound a loop.

    `scalars` are the integer parameters that were read; `covers` gives per grid axis the size its threads
    cover and how much of it one block does; `work` holds trip counts of nested loops. `complete` is False
    if the walk gave up.
    """

    accesses: list[Access] = field(default_factory=list)
    loop_bounds: set[str] = field(default_factory=set)
    scalars: set[str] = field(default_factory=set)
    covers: dict[int, tuple[Poly, int]] = field(default_factory=dict)
    work: set[Poly] = field(default_factory=set)
    complete: bool = True


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
            env[p] = _parameter(p.name, p)
    walk.body(model.kernel.body, env, 0)
    return walk.found


def _parameter(name: str, var: Var | None = None) -> Value:
    return replace(exact(Poly.symbol(name)), offset_of=None if var is None else (var, 0))


class _Walk:
    def __init__(self, model: KernelModel, shape: Shape) -> None:
        self.functions: Mapping[str, Function] = {f.symbol: f for f in model.functions}
        self.shape = shape
        self.found = Accesses()
        self.steps = 0
        self.stable, self.counters = _stable(model)
        self.definitions: dict[Var, Expr] = {}
        self.loops: list[Poly | None] = []
        self.seen: set[Access] = set()
        self.returned: list[Known] = []

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
                value = self._place(s.init, env, depth) if s.var.ref else self.eval(s.init, env, depth)
                env[s.var] = replace(value, offset_of=(s.var, 0)) if isinstance(value, Value) else value
                if s.var not in self.counters and _redoable(s, self.stable):
                    self.definitions[s.var] = s.init
            return env
        if isinstance(s, ExprStmt):
            self.eval(s.expr, env, depth)
            return env
        if isinstance(s, If):
            self.eval(s.cond, env, depth)
            then = self._branch(s.cond, True, s.then, env, depth)
            other = self._branch(s.cond, False, s.other, env, depth)
            return _merge(then, other)
        if isinstance(s, For):
            start = self.body(s.init, dict(env), depth)
            return env if start is None else self._loop(s.cond, s.body, s.step, start, depth)
        if isinstance(s, While):
            return self._loop(s.cond, s.body, None, env, depth)
        if isinstance(s, DoWhile):
            widened = self._widen(env, s.body, s.cond, depth)
            after = self.body(s.body, dict(widened), depth)
            self.eval(s.cond, dict(after if after is not None else widened), depth)
            return widened
        if isinstance(s, Switch):
            self.eval(s.value, env, depth)
            joined: Env | None = dict(env)
            for case in s.cases:
                joined = _merge(joined, self.body(case.body, dict(env), depth))
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

    def _branch(self, cond: Expr, holds: bool, body: Iterable[Stmt], env: Env, depth: int) -> Env | None:
        return self.body(body, self._refine(cond, holds, dict(env), depth), depth)

    def _loop(
        self, cond: Expr | None, body: tuple[Stmt, ...], step: Expr | None, env: Env, depth: int
    ) -> Env | None:
        if cond is not None:
            self._refine(cond, True, dict(env), depth)  # the first round tells what the grid covers
        changed = self._widen(env, body, cond, depth, step)
        inside = dict(changed)
        if cond is not None:
            self._note_bound(cond, inside, depth)
            self.eval(cond, inside, depth)
            inside = self._refine(cond, True, inside, depth)
        self.loops.append(self._trips(cond, step, inside, depth))
        self._note_work()
        after = self.body(body, inside, depth)
        self.loops.pop()
        if step is not None:
            self.eval(step, dict(after if after is not None else changed), depth)
        return changed if cond is None else self._refine(cond, False, dict(changed), depth)

    def _widen(
        self, env: Env, body: tuple[Stmt, ...], cond: Expr | None, depth: int, step: Expr | None = None
    ) -> Env:
        """`env` with what a loop changes made unknown, but for the side a counter starts from."""
        made = dict(env)
        changes: dict[Var, list[Expr]] = {}
        parts = list(walk_exprs(body)) + [e for t in (cond, step) if t is not None for e in _deep(t)]
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
            _forget(made, var)
            old = made.get(var)
            if isinstance(old, Address):
                made[var] = Address(old.root if self._same_root(old, edits, env, depth) else "", TOP)
            elif isinstance(old, Value):
                ways = {_direction(e, var) for e in edits}
                lo = old.lo if ways == {"up"} else Poly() if ways == {"down"} else None
                hi = old.hi if ways == {"down"} else None
                made[var] = Value(lo, hi, None, (var, 0), old.loads)
        return made

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
        for e in _deep(cond):
            if isinstance(e, x.Binary) and e.op in ("<", ">", "<=", ">=", "!="):
                for side in (e.left, e.right):
                    value = self.quiet(side, env, depth)
                    if isinstance(value, Value) and value.hi is not None:
                        loaded = {s[1:] for s in value.hi.symbols if s.startswith(LOADED)}
                        self.found.loop_bounds |= loaded

    def _trips(self, cond: Expr | None, step: Expr | None, env: Env, depth: int) -> Poly | None:
        """How often a loop runs at most; None for a loop over the whole grid, whose rounds share the work."""
        if step is None or cond is None or not isinstance(_bare(cond), x.Binary):
            return None
        if any(isinstance(e, x.Special) for e in self._meaning(step)):
            return None
        known = [self.quiet(o, env, depth) for o in operands(_bare(cond))]
        bounds = [k.hi for k in known if isinstance(k, Value) and k.exact is not None and k.hi is not None]
        return bounds[0] if bounds else None

    def _meaning(self, e: Expr) -> Iterable[Expr]:
        for part in _deep(e):
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

    def _note_cover(self, own: Value, limit: Poly | None) -> None:
        """A guard that keeps blocks beyond a size idle tells how many blocks are wanted."""
        if own.hi is None or limit is None or limit.constant is not None:
            return
        for axis, count in enumerate(self.shape.grid):
            name = f"{LAUNCHED}grid_{'xyz'[axis]}"
            if count != Poly.symbol(name) or name not in own.hi.symbols:
                continue
            per_block = dict(own.hi.terms).get((name,))
            if per_block is not None and per_block > 0 and not limit.symbols & {name}:
                self.found.covers.setdefault(axis, (limit.plus(1), per_block))

    # ---- guards

    def _refine(self, cond: Expr, holds: bool, env: Env, depth: int) -> Env:
        cond = _bare(cond)
        if isinstance(cond, x.Unary) and cond.op == "!":
            return self._refine(cond.operand, not holds, env, depth)
        if isinstance(cond, x.Logical):
            if (cond.op == "&&") == holds:
                env = self._refine(cond.left, holds, env, depth)
                return self._refine(cond.right, holds, env, depth)
            return env
        if not isinstance(cond, x.Binary) or cond.op not in _NEGATED:
            return env
        op = cond.op if holds else _NEGATED[cond.op]
        left, right = self.quiet(cond.left, env, depth), self.quiet(cond.right, env, depth)
        if isinstance(left, Value) and isinstance(right, Value):
            self._bound(cond.left, left, op, right, env)
            self._bound(cond.right, right, _SWAPPED[op], left, env)
        return env

    def _bound(self, e: Expr, own: Value, op: str, other: Value, env: Env) -> None:
        """Note that `e`, of value `own`, is `op` than `other`."""
        hi = other.hi.plus(-1) if op == "<" and other.hi is not None else other.hi
        lo = other.lo.plus(1) if op == ">" and other.lo is not None else other.lo
        if own.offset_of is not None:
            var, shift = own.offset_of
            known = env.get(var)
            if isinstance(known, Value):
                if op in ("<", "<=", "==") and hi is not None:
                    known = v.below(known, hi.plus(-shift))
                if op in (">", ">=", "==") and lo is not None:
                    known = v.above(known, lo.plus(-shift))
                env[var] = known
        elif op in ("<", "<=", "==") and hi is not None and not isinstance(_bare(e), x.Literal):
            env[_plain(e)] = Value(None, hi)
        self._note_cover(own, hi if op in ("<", "<=") else None)

    # ---- expressions

    def quiet(self, e: Expr, env: Env, depth: int) -> Known:
        """The value of `e` without noting what it reads and without its effects."""
        kept, accesses_before = self.seen, self.found.accesses
        self.seen, self.found.accesses = set(kept), []
        try:
            return self.eval(e, dict(env), depth)
        finally:
            self.seen, self.found.accesses = kept, accesses_before

    def eval(self, e: Expr, env: Env, depth: int) -> Known:
        """What is known of `e`; notes what it touches and updates `env` with its effects."""
        value = self._eval(e, env, depth)
        if isinstance(value, Value) and isinstance(e, x.Binary):
            known = env.get(_plain(e))
            if isinstance(known, Value) and known.hi is not None:
                value = v.below(value, known.hi)
        return value

    def _eval(self, e: Expr, env: Env, depth: int) -> Known:
        if isinstance(e, x.Literal):
            return const(int(e.value)) if isinstance(e.value, int) else TOP
        if isinstance(e, x.VarRef):
            return self._variable(e, env, depth)
        if isinstance(e, x.Special):
            return self._special(e)
        if isinstance(e, x.Cast | x.Bitcast):
            return self._cast(e, env, depth)
        if isinstance(e, x.Binary):
            return self._binary(e, env, depth)
        if isinstance(e, x.Unary):
            inner = self.eval(e.operand, env, depth)
            if e.op == "-" and isinstance(inner, Value):
                return v.subtract(const(0), inner)
            return Value(Poly(), Poly.const(1)) if e.op == "!" else TOP
        if isinstance(e, x.Logical):
            self.eval(e.left, env, depth)
            self.eval(e.right, self._refine(e.left, e.op == "&&", dict(env), depth), depth)
            return Value(Poly(), Poly.const(1))
        if isinstance(e, x.Conditional):
            self.eval(e.cond, env, depth)
            then = self.eval(e.then, self._refine(e.cond, True, dict(env), depth), depth)
            return v.join(then, self.eval(e.other, self._refine(e.cond, False, dict(env), depth), depth))
        if isinstance(e, x.AddrOf):
            return self._place(e.lvalue, env, depth)
        if isinstance(e, x.Decay):
            return self._place(e.array, env, depth)
        if isinstance(e, x.PtrAdd):
            return self._pointer_add(e.pointer, e.offset, e.type, env, depth)
        if isinstance(e, x.Index | x.Deref | x.Member):
            return self._load(e, env, depth)
        if isinstance(e, x.Assign):
            return self._assign(e, env, depth)
        if isinstance(e, x.IncDec):
            return self._step(e, env, depth)
        if isinstance(e, x.Comma):
            self.eval(e.left, env, depth)
            return self.eval(e.right, env, depth)
        if isinstance(e, x.Call):
            return self._call(e, env, depth)
        if isinstance(e, x.Intrinsic):
            return self._intrinsic(e, env, depth)
        for o in operands(e):
            self.eval(o, env, depth)
        return TOP

    def _variable(self, e: x.VarRef, env: Env, depth: int) -> Known:
        var = e.var
        known = env.get(var)
        if var in self.definitions and isinstance(known, Value):
            again = self.eval(self.definitions[var], env, depth)  # guards since may say more
            if isinstance(again, Value) and again.hi is not None:
                known = v.below(known, again.hi)
        if isinstance(known, Address) and var.ref:
            return self._touch(known, var.type, False)
        if known is not None:
            if isinstance(known, Value) and var.storage == "param" and known.exact is not None:
                self.found.scalars |= known.exact.symbols
            return known
        if var.storage in ("device", "constant") and isinstance(var.type, Scalar):
            return self._touch(Address(var.name, const(0)), var.type, False)
        return Address("", TOP) if isinstance(var.type, Pointer) else replace(TOP, offset_of=(var, 0))

    def _special(self, e: x.Special) -> Value:
        axis = "xyz".index(e.axis)
        count = (self.shape.block if e.base in ("threadIdx", "blockDim") else self.shape.grid)[axis]
        if e.base in ("blockDim", "gridDim"):
            return exact(count)
        return const(0) if count.constant == 1 else Value(Poly(), count.plus(-1))

    def _cast(self, e: x.Cast | x.Bitcast, env: Env, depth: int) -> Known:
        inner = self.eval(e.operand, env, depth)
        if isinstance(inner, Address):
            return inner
        to, source = e.type, e.operand.type
        if not isinstance(to, Scalar) or not to.is_integer or not isinstance(source, Scalar):
            return TOP
        return inner if source.is_integer and isinstance(e, x.Cast) else TOP

    def _binary(self, e: x.Binary, env: Env, depth: int) -> Known:
        a, b = self.eval(e.left, env, depth), self.eval(e.right, env, depth)
        if not isinstance(a, Value) or not isinstance(b, Value):
            return TOP
        if e.op in _ARITHMETIC and isinstance(e.type, Scalar) and e.type.is_integer:
            return _ARITHMETIC[e.op](a, b)
        return Value(Poly(), Poly.const(1)) if e.op in _NEGATED else TOP

    def _pointer_add(self, pointer: Expr, offset: Expr, t: Type, env: Env, depth: int) -> Address:
        base, by = self.eval(pointer, env, depth), self.eval(offset, env, depth)
        if not isinstance(base, Address) or not isinstance(by, Value) or not isinstance(t, Pointer):
            return Address(base.root if isinstance(base, Address) else "", TOP)
        return Address(base.root, v.add(base.offset, v.multiply(by, const(t.to.size))), base.room)

    def _place(self, e: Expr, env: Env, depth: int) -> Address:
        """The address of an lvalue; evaluates its indices."""
        if isinstance(e, x.VarRef):
            known = env.get(e.var)
            if isinstance(known, Address) and e.var.ref:
                return known
            root = e.var.name if e.var.storage in ("device", "constant") else f"{e.var.name}#{e.var.uid}"
            room = e.var.type.size if "#" in root and isinstance(e.var.type, Array) else None
            return Address(root, const(0), room or None)
        if isinstance(e, x.Index) and isinstance(e.base.type, Pointer):
            return self._pointer_add(e.base, e.index, e.base.type, env, depth)
        if isinstance(e, x.Deref):
            known = self.eval(e.pointer, env, depth)
            return known if isinstance(known, Address) else Address("", TOP)
        if isinstance(e, x.Member):
            outer = self._place(e.object, env, depth)
            if isinstance(e.object.type, Struct):
                shift = e.object.type.field(e.name).offset
                return Address(outer.root, v.add(outer.offset, const(shift)), outer.room)
            return outer
        known = self.eval(e, env, depth)
        return known if isinstance(known, Address) else Address("", TOP)

    def _load(self, e: Expr, env: Env, depth: int) -> Known:
        if isinstance(e, x.Member) and isinstance(e.object, x.VarRef):
            var = e.object.var
            if var.storage == "param" and not var.ref and not isinstance(var.type, Pointer):
                if isinstance(e.type, Scalar) and e.type.is_integer and var not in env:
                    name = f"{var.name}_{e.name}"
                    self.found.scalars.add(name)
                    return _parameter(name)
                return Address("", TOP) if isinstance(e.type, Pointer) else TOP
        if isinstance(e, x.Member) and not isinstance(e.object, x.LVALUES):
            self.eval(e.object, env, depth)
            return TOP
        return self._touch(self._place(e, env, depth), e.type, False)

    def _touch(self, place: Address, t: Type, writes: bool) -> Known:
        if isinstance(t, Array):
            return place
        if place.root:
            offset = replace(place.offset, offset_of=None)
            made = Access(place.root, offset, t.size, writes, t, place.room)
            if made not in self.seen:
                self.seen.add(made)
                self.found.accesses.append(made)
        if isinstance(t, Pointer):
            return Address("", TOP)
        if not isinstance(t, Scalar) or not t.is_integer or not place.root or "#" in place.root:
            return TOP
        if t.bits <= _SMALL:
            return Value(Poly(), Poly.const((1 << t.bits) - 1), None, None, frozenset({place.root}))
        return Value(Poly(), Poly.symbol(LOADED + place.root), None, None, frozenset({place.root}))

    def _assign(self, e: x.Assign, env: Env, depth: int) -> Known:
        value = self.eval(e.value, env, depth)
        target = e.target
        if isinstance(target, x.VarRef) and not target.var.ref and target.var.storage in ("local", "param"):
            old = env.get(target.var)
            _forget(env, target.var)
            if e.op and isinstance(old, Value) and isinstance(value, Value):
                value = _ARITHMETIC[e.op](old, value) if e.op in _ARITHMETIC else TOP
            elif e.op and isinstance(old, Address) and isinstance(e.type, Pointer):
                by = v.multiply(value, const(e.type.to.size)) if isinstance(value, Value) else TOP
                value = Address(
                    old.root, v.add(old.offset, by) if e.op == "+" else v.subtract(old.offset, by)
                )
            elif e.op:
                value = TOP
            env[target.var] = replace(value, offset_of=(target.var, 0)) if isinstance(value, Value) else value
            return env[target.var]
        place = self._place(target, env, depth)
        if e.op:
            self._touch(place, target.type, False)
        self._touch(place, target.type, True)
        return value

    def _step(self, e: x.IncDec, env: Env, depth: int) -> Known:
        if isinstance(e.target, x.VarRef) and not e.target.var.ref:
            var = e.target.var
            old = env.get(var, TOP)
            _forget(env, var)
            if isinstance(old, Address):
                size = e.type.to.size if isinstance(e.type, Pointer) else 1
                by = const(size if e.op == "+" else -size)
                env[var] = Address(old.root, v.add(old.offset, by))
            else:
                env[var] = replace(v.add(old, const(1 if e.op == "+" else -1)), offset_of=(var, 0))
            return env[var] if e.prefix else old
        place = self._place(e.target, env, depth)
        self._touch(place, e.target.type, False)
        return self._touch(place, e.target.type, True)

    def _call(self, e: x.Call, env: Env, depth: int) -> Known:
        callee = self.functions.get(e.symbol)
        inner: Env = {}
        for p, a in zip(callee.params if callee else (), e.args, strict=False):
            if p.ref and isinstance(a, x.LVALUES):
                inner[p] = self._place(a, env, depth)
                if isinstance(a, x.VarRef) and a.var in env and isinstance(env[a.var], Value):
                    env[a.var] = replace(TOP, offset_of=(a.var, 0))
            else:
                inner[p] = self.eval(a, env, depth)
        if callee is None or depth >= _DEPTH:
            self.found.complete = False
            return Address("", TOP) if isinstance(e.type, Pointer) else TOP
        saved, self.returned = self.returned, []
        self.body(callee.body, inner, depth + 1)
        results, self.returned = self.returned, saved
        if not results:
            return TOP
        joined = results[0]
        for r in results[1:]:
            joined = v.join(joined, r)
        return replace(joined, offset_of=None) if isinstance(joined, Value) else joined

    def _intrinsic(self, e: x.Intrinsic, env: Env, depth: int) -> Known:
        args = [self.eval(a, env, depth) for a in e.args]
        for given, passed in zip(args, e.args, strict=True):
            if isinstance(given, Address) and isinstance(passed.type, Pointer) and passed.type.to.size:
                value = self._touch(given, passed.type.to, False)
                if e.name.startswith(("atomic", "__st")):
                    self._touch(given, passed.type.to, True)
                if e.name.startswith("__ld"):
                    return value
        pick = _PICKS.get(e.name)
        if pick is not None and len(args) == 2:
            a, b = args
            return pick(a, b) if isinstance(a, Value) and isinstance(b, Value) else TOP
        return _NAMED.get(e.name, TOP)


_NEGATED = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
_SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def _shift_left(a: Value, b: Value) -> Value:
    by = b.exact.constant if b.exact is not None else None
    return v.multiply(a, const(1 << by)) if by is not None and 0 <= by < 63 else replace(TOP, loads=a.loads)


def _shift_right(a: Value, b: Value) -> Value:
    by = b.exact.constant if b.exact is not None else None
    if by is None or not 0 <= by < 63:
        return Value(Poly(), a.hi, None, None, a.loads)
    return v.divide(a, const(1 << by))


def _and(a: Value, b: Value) -> Value:
    tops = [p.hi for p in (a, b) if p.hi is not None and p.hi.constant is not None and p.hi.constant >= 0]
    tops = tops or [p.exact for p in (b, a) if p.exact is not None]  # a mask that is a parameter
    tops = tops or [p.hi for p in (a, b) if p.hi is not None]
    hi = min(tops, key=lambda p: p.constant or 0) if tops else None
    return Value(Poly(), hi, None, None, a.loads | b.loads)


def _or(a: Value, b: Value) -> Value:
    """`a | b` and `a ^ b` are at most `a + b` where neither is negative."""
    return replace(v.add(a, b), lo=Poly(), exact=None, offset_of=None)


_ARITHMETIC = {
    "+": v.add, "-": v.subtract, "*": v.multiply, "/": v.divide, "%": v.modulo,
    "<<": _shift_left, ">>": _shift_right, "&": _and, "|": _or, "^": _or,
}  # fmt: skip
_PICKS = {
    **dict.fromkeys(("min", "umin", "llmin", "ullmin"), v.minimum),
    **dict.fromkeys(("max", "umax", "llmax", "ullmax"), v.maximum),
}
_NAMED = {
    "__popc": Value(Poly(), Poly.const(32)),
    "__popcll": Value(Poly(), Poly.const(64)),
    "__clz": Value(Poly(), Poly.const(32)),
    "__ffs": Value(Poly(), Poly.const(32)),
}


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


def _deep(e: Expr) -> Iterable[Expr]:
    stack = [e]
    while stack:
        top = stack.pop()
        yield top
        stack += operands(top)


def _bare(e: Expr) -> Expr:
    while isinstance(e, x.Cast):
        e = e.operand
    return e


def _plain(e: Expr) -> Expr:
    """`e` without casts and places, so that equal expressions compare equal."""
    e = _bare(e)
    return replace(map_operands(e, _plain), span=NOWHERE)


def _direction(e: Expr, var: Var) -> str:
    """ "up" or "down" if `e` only raises or lowers `var`, else ""."""
    if isinstance(e, x.IncDec):
        return "up" if e.op == "+" else "down"
    if isinstance(e, x.Assign):
        if e.op in ("+", "*", "<<"):
            return "up"
        if e.op in ("-", "/", ">>"):
            return "down"
        value = _bare(e.value)
        if not e.op and isinstance(value, x.Binary) and isinstance(_bare(value.left), x.VarRef):
            left = _bare(value.left)
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
                heads.update(id(e) for e in _deep(s.step))
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
    for e in _deep(s.init):
        if isinstance(e, x.VarRef):
            if e.var not in stable or e.var.ref or e.var.storage not in ("local", "param"):
                return False
        elif not isinstance(e, x.Literal | x.Special | x.Binary | x.Cast | x.Conditional | x.Unary):
            return False
    return True


def _forget(env: Env, var: Var) -> None:
    """Drop bounds of expressions that speak of a variable which changes."""
    stale = [
        k
        for k in env
        if not isinstance(k, Var) and any(isinstance(e, x.VarRef) and e.var == var for e in _deep(k))
    ]
    for k in stale:
        del env[k]


def _pointer_base(e: Expr) -> Var | None:
    while isinstance(e, x.PtrAdd | x.Cast | x.Conditional):
        e = e.pointer if isinstance(e, x.PtrAdd) else e.operand if isinstance(e, x.Cast) else e.then
    return e.var if isinstance(e, x.VarRef) else None
