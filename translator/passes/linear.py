"""Gives every function plain statements over scalars.

Afterwards there are no structs, references, address-of or expressions with side effects (calls and
intrinsics apart): struct variables are split into their leaves, or laid out in an array where their
address is needed; reference parameters are pointers; `a[i++] = b = c` is three statements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from translator.model import expr as x
from translator.model.expr import Expr, Var, VarRef
from translator.model.stmt import Decl, ExprStmt, If, Stmt, Unpack, VectorStore
from translator.model.types import (
    BOOL,
    I32,
    I64,
    VOID,
    Array,
    Pointer,
    Scalar,
    Struct,
    Type,
    same,
)
from translator.model.walk import root_var, stmt_exprs, walk_expr, walk_stmts
from translator.passes import memory as m
from translator.passes.loops import assigned
from translator.passes.variables import Binding, Body, Variables, referred

T = TypeVar("T")


class Lower(Variables):
    """Lowers the body of one function; `statements` adds the statement side."""

    # -- places ------------------------------------------------------------------------------------

    def place(self, e: Expr) -> m.Place:
        if isinstance(e, VarRef):
            b = self.bind(e.var)
            if b.place is not None:
                return b.place
            if b.split:
                assert isinstance(e.type, Struct)
                return m.Parts(tuple(VarRef(v, e.span) for v in b.split), e.type)
            assert b.one is not None
            if isinstance(b.one.type, Array):
                return m.Cells(b.one, (), b.one.type)
            return m.Register(b.one)
        if isinstance(e, x.Deref):
            return self._behind(e.pointer, e.type)
        if isinstance(e, x.Index):
            index = self.value(e.index)
            if isinstance(e.base, x.Decay):
                return self._volatile(m.step(self._array(e.base.array), index, e.type), e)
            p = self._behind(e.base, e.type)
            return m.step(p, index, e.type) if isinstance(p, m.Memory | m.Cells) else p
        if isinstance(e, x.Member):
            return self._member(e)
        return self._temporary(e)

    def _volatile(self, p: m.Place, e: x.Index) -> m.Place:
        """An element of a volatile array that other threads see: through a volatile pointer."""
        root = root_var(e)
        seen = root is None or root.storage != "local"
        if not (isinstance(e.base.type, Pointer) and e.base.type.volatile and seen):
            return p
        if not isinstance(e.type, Scalar) or not isinstance(p, m.Cells | m.Memory):
            return p
        pointer = m.cells_pointer(p) if isinstance(p, m.Cells) else m.pointer_to(p, e.type)
        return m.Memory(x.Cast(pointer, Pointer(e.type, volatile=True), e.span), e.type, e.type)

    def _array(self, e: Expr) -> m.Memory | m.Cells:
        p = self.place(e)
        assert isinstance(p, m.Memory | m.Cells)
        return p

    def _behind(self, pointer: Expr, t: Type) -> m.Place:
        """The object a pointer points to; `*&x` is x."""
        if isinstance(pointer, x.AddrOf) and same(pointer.lvalue.type, t):
            return self.place(pointer.lvalue)
        if isinstance(pointer, x.Decay):
            p = self._array(pointer.array)
            if isinstance(p.type, Array) and same(p.type.of, t):
                return m.step(p, x.Literal(0, I32), t)
        base = self.value(pointer)
        unit = m.unit_of(t)
        assert isinstance(base.type, Pointer)
        if base.type.to != unit:
            base = x.Cast(base, replace(base.type, to=unit), base.span)
        if (
            isinstance(base, x.PtrAdd)
            and not isinstance(base.offset, x.Literal)
            and same(base.type, base.pointer.type)
        ):
            return m.Memory(base.pointer, unit, t, offset=base.offset)
        return m.Memory(base, unit, t)

    def _member(self, e: x.Member) -> m.Place:
        p = self.place(e.object)
        assert isinstance(e.object.type, Struct)
        if isinstance(p, m.Memory):
            field = e.object.type.field(e.name)
            return replace(p, type=e.type, const=p.const + field.offset // p.unit.size)
        assert isinstance(p, m.Parts)
        items = p.items[m.leaf_range(e.object.type, e.name)]
        if isinstance(e.type, Struct):
            return m.Parts(items, e.type)
        if isinstance(items[0], VarRef) and not isinstance(e.type, Array):
            return m.Register(items[0].var)
        return m.Parts(items, e.object.type)

    def referent(self, e: Expr) -> m.Place:
        """What a reference bound to `e` refers to; `a = b`, `++a` and `(a, b)` name objects too."""
        if isinstance(e, x.Comma) and referred(e):
            self.effect(e.left)
            return self.referent(e.right)
        if isinstance(e, x.Assign | x.IncDec) and (inner := referred(e)):
            if any(isinstance(n, x.Assign | x.IncDec | x.Call | x.Intrinsic) for n in walk_expr(inner[0])):
                self.sink.report("CP3001", e.span, what="reference to an assignment with further effects")
            self.effect(e)
            return self.place(inner[0])
        return self.place(e)

    def _temporary(self, e: Expr) -> m.Place:
        """An rvalue used as an object: `f(x).y`, a temporary bound to a const reference."""
        if isinstance(e.type, Struct):
            return m.Parts(tuple(self.parts(e)), e.type)
        held = self.fresh("temp", m.lowered(e.type))
        self.out.append(Decl(held, self.value(e), self.span))
        return m.Register(held)

    def read(self, e: Expr) -> Expr:
        """The scalar or pointer in lvalue `e`."""
        p = self.place(e)
        if isinstance(p, m.Register):
            return VarRef(p.var, e.span)
        if isinstance(p, m.Parts):
            return p.items[0]
        if isinstance(p, m.Cells):
            if isinstance(p.type, Scalar):
                return x.Element(p.var, p.indices, p.type, e.span)
            return m.cells_pointer(p)
        if isinstance(p.type, Array):
            return m.pointer_to(p, m.unit_of(p.type))
        assert isinstance(p.type, Scalar | Pointer)
        if isinstance(p.type, Pointer):
            self.sink.report("CP3007", e.span)
        return m.scalar_at(p, p.type)

    def address(self, e: Expr) -> Expr:
        """A pointer to lvalue `e`, in units of its own type (a member of mixed memory is in bytes)."""
        p = self.referent(e)
        if isinstance(p, m.Cells):
            return m.cells_pointer(p)
        if isinstance(p, m.Memory):
            return m.pointer_to(p, m.unit_of(e.type))
        # An rvalue or a register without memory: a temporary lives as long as the call that needs it.
        box = self._box(self.fresh("temp", e.type), e.type)
        items = p.items if isinstance(p, m.Parts) else (VarRef(p.var),)
        self._declare_box(box)
        self.store(box, list(items))
        return m.pointer_to(box)

    def _declare_box(self, box: m.Memory) -> None:
        base = box.pointer.operand if isinstance(box.pointer, x.Cast) else box.pointer
        if isinstance(base, VarRef):
            self.out.append(Decl(base.var, None, self.span))
            return
        assert isinstance(base, x.Decay) and isinstance(base.array, VarRef)
        self.out.append(Decl(base.array.var, None, self.span))

    # -- values ------------------------------------------------------------------------------------

    def value(self, e: Expr) -> Expr:
        """`e` of scalar or pointer type as an expression without side effects of its own."""
        if isinstance(
            e, x.Literal | x.String | x.Special | x.Unsupported | x.Element | x.Tuple | x.VectorLoad
        ):
            return replace(e, type=m.lowered(e.type)) if isinstance(e, x.Literal) else e
        if isinstance(e, x.LVALUES):
            return self.read(e)
        if isinstance(e, x.AddrOf):
            return self.address(e.lvalue)
        if isinstance(e, x.Decay):
            return self.read(e.array)
        if isinstance(e, x.Cast):
            return self._cast(e)
        if isinstance(e, x.Logical | x.Conditional):
            return self._lazy(e)
        if isinstance(e, x.Assign):
            return self.assign(e, keep=True)
        if isinstance(e, x.IncDec):
            return self.increment(e, keep=True)
        if isinstance(e, x.Comma):
            self.effect(e.left)
            return self.value(e.right)
        if isinstance(e, x.Call):
            return self.call(e)
        if isinstance(e, x.Intrinsic):
            return self.intrinsic(e)
        if isinstance(e, x.Bitcast) and isinstance(e.operand.type, Struct):
            return self._reinterpret(e)
        if isinstance(e, x.PtrAdd):
            return self._ptr_add(e)
        if isinstance(e, x.PtrDiff):
            return self._ptr_diff(e)
        if isinstance(e, x.Unary):
            return replace(e, operand=self.value(e.operand))
        if isinstance(e, x.Bitcast):
            return replace(e, operand=self.value(e.operand))
        if isinstance(e, x.Binary):
            left, right = self.ordered(lambda: self.value(e.left), lambda: self.value(e.right))
            return replace(e, left=left, right=right)
        if isinstance(e, x.InitList) and len(e.items) <= 1:
            return self.value(e.items[0]) if e.items else x.Literal(0, m.lowered(e.type), e.span)
        self.sink.report("CP3001", e.span or self.span, what=type(e).__name__)
        return x.Unsupported(type(e).__name__, e.type, e.span)

    def _cast(self, e: x.Cast) -> Expr:
        if isinstance(e.operand.type, Struct):
            return self.parts(e.operand)[0]
        inner = self.value(e.operand)
        to = m.lowered(e.type)
        if isinstance(to, Pointer) and isinstance(inner.type, Pointer):
            return inner if same(inner.type, to) else replace(e, operand=inner, type=to)
        if isinstance(to, Pointer):
            if isinstance(inner, x.Literal) and inner.value == 0:
                return x.Literal(0, to, e.span)
            self.sink.report("CP3006", e.span)
        return replace(e, operand=inner, type=to)

    def _ptr_add(self, e: x.PtrAdd) -> Expr:
        assert isinstance(e.type, Pointer)
        base, offset = self.ordered(lambda: self.value(e.pointer), lambda: self.value(e.offset))
        small = isinstance(base, x.Decay)
        scale = e.type.to.size // m.unit_of(e.type.to).size
        return x.PtrAdd(base, m.scaled(offset, scale, small), m.lowered(e.type), e.span)

    def _ptr_diff(self, e: x.PtrDiff) -> Expr:
        left, right = self.ordered(lambda: self.value(e.left), lambda: self.value(e.right))
        assert isinstance(e.left.type, Pointer)
        size = e.left.type.to.size
        bytes_apart = x.Binary("-", x.Cast(left, I64), x.Cast(right, I64), I64, e.span)
        return bytes_apart if size == 1 else x.Binary("/", bytes_apart, x.Literal(size, I64), I64, e.span)

    def _lazy(self, e: x.Logical | x.Conditional) -> Expr:
        """`&&`, `||`, `?:`: arms that need statements of their own turn into an `if`."""
        if isinstance(e, x.Logical):
            left = self.value(e.left)
            inner, right = self.nested(lambda: self.value(e.right))
            if not inner:
                return replace(e, left=left, right=right)
            held = self.fresh("both" if e.op == "&&" else "either", BOOL)
            self.out.append(Decl(held, left, self.span))
            test: Expr = VarRef(held) if e.op == "&&" else x.Unary("!", VarRef(held), BOOL)
            self.out.append(If(test, (*inner, self.set(VarRef(held), right)), (), self.span))
            return VarRef(held)
        cond = self.value(e.cond)
        then_pre, then = self.nested(lambda: self.value(e.then))
        other_pre, other = self.nested(lambda: self.value(e.other))
        if not then_pre and not other_pre:
            return replace(e, cond=cond, then=then, other=other, type=m.lowered(e.type))
        held = self.fresh("chosen", m.lowered(e.type))
        self.out.append(Decl(held, None, self.span))
        target = VarRef(held)
        arms = (*then_pre, self.set(target, then)), (*other_pre, self.set(target, other))
        self.out.append(If(cond, *arms, self.span))
        return target

    def ordered(self, *works: Callable[[], Expr]) -> list[Expr]:
        """Operands evaluated in order: one that a later operand's statements could change is held first."""
        made: list[Expr] = []
        for work in works:
            mark = len(self.out)
            e = work()
            new = tuple(self.out[mark:])
            held: Body = []
            if new:
                made = [self._kept_from(new, before, held) for before in made]
            self.out[mark:mark] = held
            made.append(e)
        return made

    def _kept_from(self, new: tuple[Stmt, ...], before: Expr, held: Body) -> Expr:
        """`before`, or a variable declared in `held` that keeps its value while `new` runs."""
        if isinstance(before, x.Tuple):
            return replace(before, items=tuple(self._kept_from(new, i, held) for i in before.items))
        if not disturbs(new, before):
            return before
        v = self.fresh("before", before.type)
        held.append(Decl(v, before, self.span))
        return VarRef(v)

    def nested(self, work: Callable[[], T]) -> tuple[Body, T]:
        """Runs `work` with a statement list of its own."""
        outer, self.out = self.out, []
        result = work()
        inner, self.out = self.out, outer
        return inner, result

    def set(self, target: Expr, value: Expr) -> ExprStmt:
        return ExprStmt(x.Assign(target, "", value, target.type, self.span), self.span)

    def call(self, e: x.Call) -> Expr:
        """A call with a scalar result, as an expression."""
        made = replace(e, args=tuple(self.arguments(e)), type=m.lowered(e.type))
        if isinstance(e.type, Struct):
            return self._unpacked(made, e.type)[0]
        return made

    def arguments(self, e: x.Call) -> list[Expr]:
        def one(param: Var, arg: Expr) -> Expr:
            if param.ref and not self.by_value(e.symbol, param):
                return self.address(arg)
            if isinstance(param.type, Struct):
                return x.Tuple(tuple(self.parts(arg)), param.type)
            return self.value(arg)

        params = self.model.function(e.symbol).params
        works = [lambda p=p, a=a: one(p, a) for p, a in zip(params, e.args, strict=True)]
        found: list[Expr] = []
        for made in self.ordered(*works):
            found += made.items if isinstance(made, x.Tuple) else (made,)
        return found

    def _unpacked(self, e: Expr, t: Struct) -> list[Expr]:
        held = [self.fresh(leaf.path, m.lowered(leaf.type)) for leaf in m.leaves(t)]
        self.out.append(Unpack(tuple(VarRef(v) for v in held), e, self.span))
        return [VarRef(v) for v in held]

    def intrinsic(self, e: x.Intrinsic) -> Expr:
        """A builtin with a scalar (or no) result."""
        outs = self._outs(e)
        if outs:
            return self._intrinsic_outs(e, outs)
        if isinstance(e.type, Struct):
            return self.parts_of_intrinsic(e)[0]
        return self._kept(e)

    def _kept(self, e: x.Intrinsic, args: tuple[Expr, ...] | None = None) -> x.Intrinsic:
        """The intrinsic over lowered arguments; struct arguments are tuples of their components."""
        if args is None:
            works = [
                lambda a=a: (
                    x.Tuple(tuple(self.held_parts(a)), a.type)
                    if isinstance(a.type, Struct)
                    else self.value(a)
                )
                for a in e.args
            ]
            args = tuple(self.ordered(*works))
        types = tuple(a.type for a in e.args)
        kept_type = e.type if isinstance(e.type, Struct) else m.lowered(e.type)
        return replace(e, args=args, type=kept_type, arg_types=types)

    def _intrinsic_outs(self, e: x.Intrinsic, outs: list[int]) -> Expr:
        """sincosf(v, &s, &c) and the like: results in registers, then stored where they belong."""
        made = self._kept(
            e, tuple(self.value(a) if k not in outs else x.Literal(0, I32) for k, a in enumerate(e.args))
        )
        results = [] if e.type == VOID else [self.fresh("result", m.lowered(e.type))]
        written: list[tuple[Expr, Var]] = []
        for k in outs:
            pointer = e.args[k]
            assert isinstance(pointer.type, Pointer)
            target: Expr = x.Deref(pointer, pointer.type.to, e.span)
            if isinstance(pointer, x.AddrOf):
                target = pointer.lvalue
            written.append((target, self.fresh("out", m.lowered(pointer.type.to))))
        held = [*results, *(v for _, v in written)]
        self.out.append(Unpack(tuple(VarRef(v) for v in held), made, self.span))
        for target, v in written:
            self.bindings[v] = Binding(v)
            self.assign(x.Assign(target, "", VarRef(v), target.type, e.span), keep=False)
        return VarRef(results[0]) if results else x.Literal(0, I32)

    def parts_of_intrinsic(self, e: x.Intrinsic) -> list[Expr]:
        """A builtin with a struct result: by component where its row says so."""
        assert isinstance(e.type, Struct)
        rule = self._rule(e)
        if rule is None or rule.components != "elementwise":
            return self._unpacked(self._kept(e), e.type)
        args = [
            self.held_parts(a) if isinstance(a.type, Struct) else [self.held(self.value(a))] for a in e.args
        ]
        made: list[Expr] = []
        for k, leaf in enumerate(m.leaves(e.type)):
            lane = tuple(a[k] if len(a) > 1 else a[0] for a in args)
            made.append(x.Intrinsic(rule.scalar, lane, leaf.type, e.span, tuple(a.type for a in lane)))
        return made

    def held_parts(self, e: Expr) -> list[Expr]:
        """Leaves of `e`, each cheap to mention more than once."""
        return [self.held(p) for p in self.parts(e)]

    def held(self, e: Expr) -> Expr:
        if isinstance(e, x.Literal | VarRef):
            return e
        v = self.fresh("lane", e.type)
        self.out.append(Decl(v, e, self.span))
        return VarRef(v)

    def _reinterpret(self, e: x.Bitcast) -> Expr:
        """The bits of a struct as a scalar of its size, through memory the compiler removes."""
        assert isinstance(e.operand.type, Struct)
        box = self._box(self.fresh("bits", e.operand.type), e.operand.type)
        self._declare_box(box)
        self.store(box, self.parts(e.operand))
        assert isinstance(e.type, Scalar)
        return m.scalar_at(replace(box, type=e.type), e.type)

    # -- effects (defined by the statement side) -----------------------------------------------------

    def effect(self, e: Expr) -> None:
        raise NotImplementedError

    def assign(self, e: x.Assign, *, keep: bool) -> Expr:
        raise NotImplementedError

    def increment(self, e: x.IncDec, *, keep: bool) -> Expr:
        raise NotImplementedError

    def store(self, p: m.Memory, values: list[Expr]) -> None:
        raise NotImplementedError

    def parts(self, e: Expr) -> list[Expr]:
        raise NotImplementedError


def disturbs(new: tuple[Stmt, ...], e: Expr) -> bool:
    """Whether running `new` could change what `e` evaluates to."""
    nodes = tuple(walk_expr(e))
    if assigned(new) & {n.var for n in nodes if isinstance(n, VarRef)}:
        return True
    reads = any(isinstance(n, x.Index | x.Element | x.Call | x.Intrinsic) for n in nodes)
    return reads and any(_touches_memory(s) for s in walk_stmts(new))


def _touches_memory(s: Stmt) -> bool:
    if isinstance(s, VectorStore):
        return True
    if isinstance(s, ExprStmt) and isinstance(s.expr, x.Assign) and not isinstance(s.expr.target, VarRef):
        return True
    return any(isinstance(n, x.Call | x.Intrinsic) for e in stmt_exprs(s) for n in walk_expr(e))
