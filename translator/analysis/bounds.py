"""Evaluates expressions of a kernel to bounds: what an integer may be, where an address may point.

Every memory access met on the way is noted with the largest offset it may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from translator.analysis import values as v
from translator.analysis.fields import changed_members, leaves
from translator.analysis.operators import ARITHMETIC, NAMED, NEGATED, PICKS, SWAPPED
from translator.analysis.poly import Poly
from translator.analysis.values import LAUNCHED, LOADED, TOP, Access, Address, Known, Value, const, exact
from translator.diag.diagnostic import NOWHERE
from translator.model import expr as x
from translator.model.expr import Expr, Var
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Stmt
from translator.model.types import Array, Pointer, Scalar, Struct, Type
from translator.model.walk import map_operands, operands

# What is known of variables, and upper bounds of guarded expressions that are no variable.
Guards: TypeAlias = "frozenset[tuple[str, Var]]"  # (index or counter, the variable made of it)
Env: TypeAlias = "dict[Var | Expr, Known]"
DEPTH = 6  # device functions inlined into each other
SMALL = 8  # bits: a loaded integer this narrow is bounded by its type


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


def parameter(name: str, var: Var | None = None) -> Value:
    return replace(exact(Poly.symbol(name)), offset_of=None if var is None else (var, 0))


class Evaluator:
    """Expressions and guards; statements are walked by a subclass, which calls need for their bodies."""

    def __init__(self, model: KernelModel, shape: Shape) -> None:
        self.functions: Mapping[str, Function] = {f.symbol: f for f in model.functions}
        self.shape = shape
        self.found = Accesses()
        self.seen: set[Access] = set()
        self.returned: list[Known] = []
        self.changed = changed_members(model)
        self.packed = {
            f"{p.name}#{p.uid}": {leaf.offset: leaf for leaf in leaves(p)}
            for p in model.kernel.params
            if isinstance(p.type, Struct)
        }
        self.definitions: dict[Var, Expr] = {}  # initialisers that mean the same wherever they are in scope
        # what keeps threads from what is walked: bounds of these variables only, or None for more than that
        self.guards: Guards | None = frozenset()
        self.divided: frozenset[tuple[str, int]] = frozenset()  # sizes that are multiples where the walk is

    def body(self, statements: Iterable[Stmt], env: Env | None, depth: int) -> Env | None:
        """The environment after some statements, None if control doesn't get past them."""
        raise NotImplementedError

    # ---- guards

    def refine(self, cond: Expr, holds: bool, env: Env, depth: int) -> Env:
        cond = bare(cond)
        if isinstance(cond, x.Unary) and cond.op == "!":
            return self.refine(cond.operand, not holds, env, depth)
        if isinstance(cond, x.Logical):
            if (cond.op == "&&") == holds:
                env = self.refine(cond.left, holds, env, depth)
                return self.refine(cond.right, holds, env, depth)
            return env
        if not isinstance(cond, x.Binary) or cond.op not in NEGATED:
            return env
        op = cond.op if holds else NEGATED[cond.op]
        left, right = self.quiet(cond.left, env, depth), self.quiet(cond.right, env, depth)
        if isinstance(left, Value) and isinstance(right, Value):
            self._bound(cond.left, left, op, right, env)
            self._bound(cond.right, right, SWAPPED[op], left, env)
        return env

    def under(self, guards: Guards | None, cond: Expr, holds: bool, env: Env, depth: int) -> Guards | None:
        """`guards`, and the variables that `cond` bounds; None if it does more than to bound variables that
        take every value, each on its own."""
        if guards is None:
            return None
        cond = bare(cond)
        if isinstance(cond, x.Unary) and cond.op == "!":
            return self.under(guards, cond.operand, not holds, env, depth)
        if isinstance(cond, x.Logical):
            if (cond.op == "&&") != holds:
                return None
            guards = self.under(guards, cond.left, holds, env, depth)
            return self.under(guards, cond.right, holds, env, depth)
        if not isinstance(cond, x.Binary) or (cond.op if holds else NEGATED.get(cond.op, "!=")) == "!=":
            return None
        sides = [self.quiet(side, env, depth) for side in (cond.left, cond.right)]
        known = [k for k in sides if isinstance(k, Value) and not k.loads]
        fixed = [k for k in known if k.exact is not None]
        if len(fixed) == 2:
            return guards
        free = [k.offset_of[0] for k in known if k.exact is None and k.offset_of is not None]
        bound = env.get(free[0]) if len(fixed) == len(free) == 1 else None
        if not isinstance(bound, Value) or not bound.dense:
            return None
        return guards | {(origin, free[0]) for origin, _ in bound.origins}

    def _bound(self, e: Expr, own: Value, op: str, other: Value, env: Env) -> None:
        """Note that `e`, of value `own`, is `op` than `other`."""
        hi = other.hi.plus(-1) if op == "<" and other.hi is not None else other.hi
        lo = other.lo.plus(1) if op == ">" and other.lo is not None else other.lo
        if own.offset_of is not None:
            var, shift = own.offset_of
            known = env.get(var)
            if isinstance(known, Value):
                if op in ("<", "<=", "==") and hi is not None:
                    known = v.below(known, hi.plus(-shift), other.exact is not None)
                if op in (">", ">=", "==") and lo is not None:
                    known = v.above(known, lo.plus(-shift))
                env[var] = known
        elif op in ("<", "<=", "==") and hi is not None and not isinstance(bare(e), x.Literal):
            env[plain(e)] = Value(None, hi)
        self._note_cover(own, hi if op in ("<", "<=") else None)

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
        if not isinstance(value, Value) or not isinstance(e, x.Binary | x.Special):
            return value
        if all(isinstance(k, Var) for k in env):  # spares making `e` plain, which costs its whole size
            return value
        known = env.get(plain(e))
        if not isinstance(known, Value) or known.hi is None:
            return value
        if isinstance(e, x.Special) and known.hi.constant is None:
            return value  # a size may be more than there are threads
        return v.below(value, known.hi)

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
            self._under(e.left, e.op == "&&", e.right, env, depth)
            return Value(Poly(), Poly.const(1))
        if isinstance(e, x.Conditional):
            self.eval(e.cond, env, depth)
            then = self._under(e.cond, True, e.then, env, depth)
            return v.join(then, self._under(e.cond, False, e.other, env, depth))
        if isinstance(e, x.AddrOf):
            return self.place(e.lvalue, env, depth)
        if isinstance(e, x.Decay):
            return self.place(e.array, env, depth)
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

    def _under(self, cond: Expr, holds: bool, e: Expr, env: Env, depth: int) -> Known:
        """`e`, which is evaluated only where `cond` holds, or where it does not."""
        saved = self.guards
        self.guards = self.under(saved, cond, holds, env, depth)
        known = self.eval(e, self.refine(cond, holds, dict(env), depth), depth)
        self.guards = saved
        return known

    def _variable(self, e: x.VarRef, env: Env, depth: int) -> Known:
        var = e.var
        known = env.get(var)
        if var in self.definitions and isinstance(known, Value):
            again = self.eval(self.definitions[var], env, depth)  # guards since may say more
            if isinstance(again, Value):
                best = v.better(known.hi, again.hi)
                if best == again.hi:
                    return replace(known, hi=best, reached=again.reached, origins=again.origins)
                known = replace(known, hi=best)
        if isinstance(known, Address) and var.ref:
            return self._touch(known, var.type, False)
        if known is not None:
            if isinstance(known, Value) and var.storage == "param" and known.exact is not None:
                self.found.scalars |= known.exact.symbols
            return read_from(known, var) if isinstance(known, Value) else known
        if var.storage in ("device", "constant") and isinstance(var.type, Scalar):
            return self._touch(Address(var.name, const(0)), var.type, False)
        return Address("", TOP) if isinstance(var.type, Pointer) else replace(TOP, offset_of=(var, 0))

    def _special(self, e: x.Special) -> Value:
        axis = "xyz".index(e.axis)
        count = (self.shape.block if e.base in ("threadIdx", "blockDim") else self.shape.grid)[axis]
        if e.base in ("blockDim", "gridDim"):
            return exact(count)
        if count.constant == 1:
            return const(0)
        return Value(
            Poly(),
            count.plus(-1),
            reached=True,
            step=v.ONE,
            origins=frozenset({(f"{e.base}.{e.axis}", None)}),
        )

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
        if e.op in ARITHMETIC and isinstance(e.type, Scalar) and e.type.is_integer:
            return ARITHMETIC[e.op](a, b)
        return Value(Poly(), Poly.const(1)) if e.op in NEGATED else TOP

    def _pointer_add(self, pointer: Expr, offset: Expr, t: Type, env: Env, depth: int) -> Address:
        base, by = self.eval(pointer, env, depth), self.eval(offset, env, depth)
        if not isinstance(base, Address) or not isinstance(by, Value) or not isinstance(t, Pointer):
            return Address(base.root if isinstance(base, Address) else "", TOP)
        return Address(base.root, v.add(base.offset, v.multiply(by, const(t.to.size))), base.room)

    def place(self, e: Expr, env: Env, depth: int) -> Address:
        """The address of an lvalue; evaluates its indices."""
        if isinstance(e, x.VarRef):
            known = env.get(e.var)
            if isinstance(known, Address) and (e.var.ref or isinstance(e.var.type, Struct)):
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
            outer = self.place(e.object, env, depth)
            if isinstance(e.object.type, Struct):
                shift = e.object.type.field(e.name).offset
                return Address(outer.root, v.add(outer.offset, const(shift)), outer.room)
            return outer
        known = self.eval(e, env, depth)
        return known if isinstance(known, Address) else Address("", TOP)

    def _load(self, e: Expr, env: Env, depth: int) -> Known:
        if isinstance(e, x.Member) and not isinstance(e.object, x.LVALUES):
            self.eval(e.object, env, depth)
            return TOP
        place = self.place(e, env, depth)
        if place.root in self.packed:
            return self._argument(place, e.type)
        return self._touch(place, e.type, False)

    def _argument(self, place: Address, t: Type) -> Known:
        """What is read from a struct that was passed by value."""
        at = place.offset.exact.constant if place.offset.exact is not None else None
        leaf = self.packed[place.root].get(at) if at is not None else None
        if leaf is None or leaf.type != t or self.changed & (leaf.members | {place.root}):
            return Address("", TOP) if isinstance(t, Pointer) else place if isinstance(t, Array) else TOP
        if isinstance(t, Pointer):
            return Address(leaf.var.name, const(0))
        if not isinstance(t, Scalar) or not t.is_integer:
            return TOP
        self.found.scalars.add(leaf.var.name)
        return parameter(leaf.var.name)

    def argument_struct(self, e: Expr, env: Env, depth: int) -> Address | None:
        """Where struct `e` lies if it is (in) a struct that was passed by value, or a copy of one."""
        if not isinstance(e.type, Struct) or not isinstance(e, x.LVALUES):
            return None
        place = self.place(e, env, depth)
        return place if place.root in self.packed else None

    def _touch(self, place: Address, t: Type, writes: bool) -> Known:
        if isinstance(t, Array):
            return place
        if place.root:
            offset = replace(place.offset, offset_of=None)
            reached = place.offset.reached and self._unbounded_otherwise(place.offset)
            made = Access(place.root, offset, t.size, writes, t, place.room, reached, self.divided)
            if made not in self.seen:
                self.seen.add(made)
                self.found.accesses.append(made)
        if isinstance(t, Pointer):
            return Address("", TOP)
        if not isinstance(t, Scalar) or not t.is_integer or not place.root or "#" in place.root:
            return TOP
        if t.bits <= SMALL:
            return Value(Poly(), Poly.const((1 << t.bits) - 1), None, None, frozenset({place.root}))
        return Value(Poly(), Poly.symbol(LOADED + place.root), None, None, frozenset({place.root}))

    def _unbounded_otherwise(self, value: Value) -> bool:
        """Whether no guard bounds what `value` comes from by way of another variable."""
        if self.guards is None:
            return False
        return not any(g == o and var != by for g, var in self.guards for o, by in value.origins)

    def _assign(self, e: x.Assign, env: Env, depth: int) -> Known:
        value = self.eval(e.value, env, depth)
        target = e.target
        if isinstance(target, x.VarRef) and not target.var.ref and target.var.storage in ("local", "param"):
            old = env.get(target.var)
            forget(env, target.var)
            if e.op and isinstance(old, Value) and isinstance(value, Value):
                value = ARITHMETIC[e.op](old, value) if e.op in ARITHMETIC else TOP
            elif e.op and isinstance(old, Address) and isinstance(e.type, Pointer):
                by = v.multiply(value, const(e.type.to.size)) if isinstance(value, Value) else TOP
                value = Address(
                    old.root, v.add(old.offset, by) if e.op == "+" else v.subtract(old.offset, by)
                )
            elif e.op:
                value = TOP
            env[target.var] = replace(value, offset_of=(target.var, 0)) if isinstance(value, Value) else value
            return env[target.var]
        place = self.place(target, env, depth)
        if e.op:
            self._touch(place, target.type, False)
        self._touch(place, target.type, True)
        return value

    def _step(self, e: x.IncDec, env: Env, depth: int) -> Known:
        if isinstance(e.target, x.VarRef) and not e.target.var.ref:
            var = e.target.var
            old = env.get(var, TOP)
            forget(env, var)
            if isinstance(old, Address):
                size = e.type.to.size if isinstance(e.type, Pointer) else 1
                by = const(size if e.op == "+" else -size)
                env[var] = Address(old.root, v.add(old.offset, by))
            else:
                env[var] = replace(v.add(old, const(1 if e.op == "+" else -1)), offset_of=(var, 0))
            return env[var] if e.prefix else old
        place = self.place(e.target, env, depth)
        self._touch(place, e.target.type, False)
        return self._touch(place, e.target.type, True)

    def _call(self, e: x.Call, env: Env, depth: int) -> Known:
        callee = self.functions.get(e.symbol)
        inner: Env = {}
        for p, a in zip(callee.params if callee else (), e.args, strict=False):
            if p.ref and isinstance(a, x.LVALUES):
                inner[p] = self.place(a, env, depth)
                if isinstance(a, x.VarRef) and a.var in env and isinstance(env[a.var], Value):
                    env[a.var] = replace(TOP, offset_of=(a.var, 0))
            else:
                inner[p] = self.argument_struct(a, env, depth) or self.eval(a, env, depth)
        if callee is None or depth >= DEPTH:
            self.found.complete = False
            return Address("", TOP) if isinstance(e.type, Pointer) else TOP
        saved, self.returned = self.returned, []
        guards = self.guards
        self.body(callee.body, inner, depth + 1)
        self.guards = guards
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
        pick = PICKS.get(e.name)
        if pick is not None and len(args) == 2:
            a, b = args
            return pick(a, b) if isinstance(a, Value) and isinstance(b, Value) else TOP
        return NAMED.get(e.name, TOP)


def read_from(value: Value, var: Var) -> Value:
    """`value` as what variable `var` holds."""
    return replace(value, origins=frozenset((origin, var) for origin, _ in value.origins))


def deep(e: Expr) -> Iterable[Expr]:
    stack = [e]
    while stack:
        top = stack.pop()
        yield top
        stack += operands(top)


def bare(e: Expr) -> Expr:
    while isinstance(e, x.Cast):
        e = e.operand
    return e


def plain(e: Expr) -> Expr:
    """`e` without casts and places, so that equal expressions compare equal."""
    e = bare(e)
    return replace(map_operands(e, plain), span=NOWHERE)


def forget(env: Env, var: Var) -> None:
    """Drop bounds of expressions that speak of a variable which changes."""
    stale = [
        k
        for k in env
        if not isinstance(k, Var) and any(isinstance(e, x.VarRef) and e.var == var for e in deep(k))
    ]
    for k in stale:
        del env[k]
