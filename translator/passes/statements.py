"""The statement side of `linear`: assignments, declarations, struct values, loops' conditions."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, zip_longest

from translator.diag.diagnostic import Sink
from translator.model import expr as x
from translator.model import stmt as st
from translator.model.expr import Expr, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, ExprStmt, If, Stmt, Unpack, VectorStore
from translator.model.types import BOOL, I32, U64, VOID, Array, Pointer, Scalar, Struct, Type
from translator.model.walk import declared, used, walk_expr
from translator.passes import memory as m
from translator.passes.linear import Lower
from translator.passes.loops import assigned
from translator.passes.variables import Binding, Body


class Linear(Lower):
    """Lowers whole bodies."""

    # -- struct values -------------------------------------------------------------------------------

    def parts(self, e: Expr) -> list[Expr]:
        """The leaves of a struct value, as expressions without side effects."""
        t = e.type
        assert isinstance(t, Struct)
        if isinstance(e, x.LVALUES):
            p = self.place(e)
            return list(p.items) if isinstance(p, m.Parts) else self._load(p, t)
        if isinstance(e, x.Construct | x.InitList):
            return self._field_values(t, e.args if isinstance(e, x.Construct) else e.items)
        if isinstance(e, x.Call):
            made = replace(e, args=tuple(self.arguments(e)))
            return self._unpacked(made, t)
        if isinstance(e, x.Conditional):
            return self._conditional_parts(e, t)
        if isinstance(e, x.Assign):
            self.assign(e, keep=False)
            return self.parts(e.target)
        if isinstance(e, x.Comma):
            self.effect(e.left)
            return self.parts(e.right)
        if isinstance(e, x.Intrinsic):
            return self.parts_of_intrinsic(e)
        if isinstance(e, x.Cast) and e.operand.type == t:
            return self.parts(e.operand)
        if isinstance(e, x.Bitcast):
            return self._parts_of_bits(e, t)
        self.sink.report("CP3001", e.span, what=f"{type(e).__name__} of type {t}")
        return [x.Unsupported(str(t), m.lowered(leaf.type), e.span) for leaf in m.leaves(t)]

    def _field_values(self, t: Struct, args: tuple[Expr, ...]) -> list[Expr]:
        """The leaves of a struct initialiser, evaluated left to right and zero-filled."""
        works = [lambda f=f, a=a: self._leaves_of(f.type, a) for f, a in zip_longest(t.fields, args)]
        return [leaf for made in self.ordered(*works) for leaf in _items(made)]

    def _array_values(self, t: Array, e: Expr) -> list[Expr]:
        """The same of an array initialiser."""
        items = e.items if isinstance(e, x.InitList) else ()
        listed = (*items, *(None,) * ((t.count or 0) - len(items)))
        works = [lambda a=a: self._leaves_of(t.of, a) for a in listed]
        return [leaf for made in self.ordered(*works) for leaf in _items(made)]

    def _leaves_of(self, t: Type, e: Expr | None) -> Expr:
        """The leaves of one element or field; a tuple of them unless there is just a scalar."""
        if e is None:
            return x.Tuple(tuple(_zero(leaf.type) for leaf in m.leaves(t)), VOID)
        if isinstance(t, Struct):
            return x.Tuple(tuple(self.parts(e)), VOID)
        if isinstance(t, Array):
            return x.Tuple(tuple(self._array_values(t, e)), VOID)
        return self.value(e)

    def _conditional_parts(self, e: x.Conditional, t: Struct) -> list[Expr]:
        held = [self.fresh(leaf.path, m.lowered(leaf.type)) for leaf in m.leaves(t)]
        cond = self.value(e.cond)
        for v in held:
            self.out.append(Decl(v, None, self.span))
        arms = []
        for arm in (e.then, e.other):
            inner, items = self.nested(lambda arm=arm: self.parts(arm))  # type: ignore[misc]
            arms.append((*inner, *(self.set(VarRef(v), i) for v, i in zip(held, items, strict=True))))
        self.out.append(If(cond, arms[0], arms[1], self.span))
        return [VarRef(v) for v in held]

    def _parts_of_bits(self, e: x.Bitcast, t: Struct) -> list[Expr]:
        box = self._box(self.fresh("bits", e.operand.type), e.operand.type)
        self._declare_box(box)
        self.store(
            box, [self.value(e.operand)] if not isinstance(e.operand.type, Struct) else self.parts(e.operand)
        )
        unit = m.unit_of(t)
        seen = m.Memory(m.pointer_to(box, unit), unit, t, small=True)
        return self._load(seen, t)

    def _load(self, p: m.Place, t: Struct) -> list[Expr]:
        """Loads a struct from memory into fresh registers."""
        assert isinstance(p, m.Memory)
        held = [self.fresh(leaf.path, m.lowered(leaf.type)) for leaf in m.leaves(t)]
        self._load_into(p, t, [VarRef(v) for v in held], declare=True)
        return [VarRef(v) for v in held]

    def _load_into(self, p: m.Memory, t: Struct, targets: list[VarRef], *, declare: bool) -> None:
        chunk = m.load_chunk(t, p.unit)
        if chunk > 1:
            for k in range(0, len(targets), chunk):
                pointer = m.pointer_to(replace(p, const=p.const + k))
                load = x.VectorLoad(pointer, chunk, min(t.align, 16), p.unit, self.span)
                self.out.append(Unpack(tuple(targets[k : k + chunk]), load, self.span))
            return
        for leaf, target in zip(m.leaves(t), targets, strict=True):
            if isinstance(leaf.type, Pointer):
                self.sink.report("CP3007", self.span)
            at = replace(p, type=leaf.type, const=p.const + leaf.offset // p.unit.size)
            value = m.scalar_at(at, leaf.type)
            self.out.append(Decl(target.var, value, self.span) if declare else self.set(target, value))

    def store(self, p: m.Memory, values: list[Expr]) -> None:
        """Stores the leaves of one object to memory."""
        t = p.type
        if isinstance(t, Struct) and (chunk := m.load_chunk(t, p.unit)) > 1:
            for k in range(0, len(values), chunk):
                pointer = m.pointer_to(replace(p, const=p.const + k))
                self.out.append(
                    VectorStore(pointer, tuple(values[k : k + chunk]), min(t.align, 16), self.span)
                )
            return
        for leaf, value in zip(m.leaves(t), values, strict=True):
            at = replace(p, type=leaf.type, const=p.const + leaf.offset // p.unit.size)
            if isinstance(leaf.type, Pointer):
                value = self._address_of(value)
                self.out.append(self.set(m.scalar_at(replace(at, type=U64), U64), value))
                continue
            self.out.append(self.set(m.scalar_at(at, leaf.type), value))

    def _address_of(self, pointer: Expr) -> Expr:
        """A pointer as the address to keep in memory; only one into global memory comes back as it went."""
        root = pointer
        while isinstance(root, x.PtrAdd | x.Cast) and isinstance(root.type, Pointer):
            root = root.pointer if isinstance(root, x.PtrAdd) else root.operand
        if isinstance(root, x.Literal):
            return x.Literal(int(root.value), U64)
        loaded = root.type == U64  # it was kept in memory before
        given = isinstance(root, VarRef) and root.var.storage == "param" and self.function.is_kernel
        if not (loaded or given):
            self.sink.report("CP3006", pointer.span)
        return x.Cast(pointer, U64, pointer.span)

    # -- assignments -----------------------------------------------------------------------------------

    def assign(self, e: x.Assign, *, keep: bool) -> Expr:
        """Performs an assignment; with `keep` returns the value it has."""
        if isinstance(e.target.type, Struct):
            self._assign_struct(e)
            return e.target
        if not isinstance(e.target, x.LVALUES):
            return self._assign_through(e, keep=keep)
        target_lvalue = e.target
        if isinstance(e.target.type, Pointer) and isinstance(kept := self.place(e.target), m.Memory):
            old = m.scalar_at(kept, e.target.type)
            made = self.held(self._combined(e, old, self.value(e.value)))
            self.store(kept, [made])
            return made
        value, target = self.ordered(lambda: self.value(e.value), lambda: self.read(target_lvalue))
        made = self._combined(e, target, value)
        if keep and not isinstance(target, VarRef):
            made = self.held(made)
        self.out.append(self.set(target, made))
        return target if isinstance(target, VarRef) else made

    def _assign_through(self, e: x.Assign, *, keep: bool) -> Expr:
        """`(a, b) = v`, `(c ? a : b) = v`, `(a += b) += c`: an lvalue that is itself an expression."""
        if isinstance(e.target, x.Comma):
            self.effect(e.target.left)
            return self.assign(replace(e, target=e.target.right), keep=keep)
        if isinstance(e.target, x.Assign | x.IncDec) and getattr(e.target, "prefix", True):
            self.effect(e.target)
            return self.assign(replace(e, target=e.target.target), keep=keep)
        if isinstance(e.target, x.Conditional) and not keep:
            cond = self.value(e.target.cond)
            arms = []
            for arm in (e.target.then, e.target.other):
                inner, _ = self.nested(lambda arm=arm: self.assign(replace(e, target=arm), keep=False))  # type: ignore[misc]
                arms.append(tuple(inner))
            self.out.append(If(cond, arms[0], arms[1], self.span))
            return e.value
        self.sink.report("CP3001", e.span, what="assignment to this expression")
        return e.value

    def _combined(self, e: x.Assign, target: Expr, value: Expr) -> Expr:
        if not e.op:
            return value
        if isinstance(target.type, Pointer):
            assert isinstance(e.target.type, Pointer)
            offset = value if e.op == "+" else x.Unary("-", m.widened(value), m.widened(value).type)
            scale = e.target.type.to.size // m.unit_of(e.target.type.to).size
            return x.PtrAdd(target, m.scaled(offset, scale, False), target.type, e.span)
        compute = e.compute or target.type
        left = target if target.type == compute else x.Cast(target, compute, e.span)
        made: Expr = x.Binary(e.op, left, value, compute, e.span)
        return made if compute == target.type else x.Cast(made, target.type, e.span)

    def increment(self, e: x.IncDec, *, keep: bool) -> Expr:
        target = self.read(e.target) if isinstance(e.target, x.LVALUES) else self.value(e.target)
        old: Expr = target
        if keep and not e.prefix:
            held = self.fresh(f"old_{target.var.name}" if isinstance(target, VarRef) else "old", target.type)
            self.out.append(Decl(held, target, self.span))
            old = VarRef(held)
        self.out.append(self.set(target, self._stepped(e, target)))
        return target if e.prefix else old

    def _stepped(self, e: x.IncDec, target: Expr) -> Expr:
        t = target.type
        if isinstance(t, Pointer):
            assert isinstance(e.target.type, Pointer)
            size = e.target.type.to.size // t.to.size
            return x.PtrAdd(target, x.Literal(size if e.op == "+" else -size, I32), t, e.span)
        assert isinstance(t, Scalar)
        compute = I32 if t.is_integer and t.bits < 32 else t
        one = x.Literal(1.0 if t.is_float else 1, compute)
        left = target if t == compute else x.Cast(target, compute)
        made: Expr = x.Binary(e.op, left, one, compute, e.span)
        return made if compute == t else x.Cast(made, t, e.span)

    def _assign_struct(self, e: x.Assign) -> None:
        t = e.target.type
        assert isinstance(t, Struct)
        if e.op:
            self.sink.report("CP3001", e.span, what=f"{e.op}= on {t}")
            return
        target = self.place(e.target)
        if isinstance(target, m.Parts):
            slots = [i for i in target.items if isinstance(i, VarRef)]
            if isinstance(e.value, x.LVALUES) and isinstance(source := self.place(e.value), m.Memory):
                self._load_into(source, t, slots, declare=False)
                return
            self._set_all(slots, self.parts(e.value))
            return
        assert isinstance(target, m.Memory)
        self.store(target, self.parts(e.value))

    def _set_all(self, slots: list[VarRef], values: list[Expr]) -> None:
        """Parallel assignment; one by one where no value reads an earlier target."""
        written: set[Var] = set()
        parallel = False
        for slot, value in zip(slots, values, strict=True):
            parallel |= any(isinstance(p, VarRef) and p.var in written for p in walk_expr(value))
            written.add(slot.var)
        if parallel:
            packed = x.Tuple(tuple(values), VOID, self.span)
            self.out.append(Unpack(tuple(slots), packed, self.span))
        else:
            self.out += [self.set(s, v) for s, v in zip(slots, values, strict=True) if s != v]

    # -- statements ------------------------------------------------------------------------------------

    def effect(self, e: Expr) -> None:
        """`e` for its effects only."""
        if isinstance(e, x.Assign):
            self.assign(e, keep=False)
        elif isinstance(e, x.IncDec):
            self.increment(e, keep=False)
        elif isinstance(e, x.Comma):
            self.effect(e.left)
            self.effect(e.right)
        elif isinstance(e, x.Cast) and e.type == VOID:
            self.effect(e.operand)
        elif isinstance(e, x.Logical | x.Conditional):
            self._effect_lazy(e)
        elif isinstance(e, x.Call | x.Intrinsic) and not isinstance(e.type, Struct):
            made = self.value(e)
            if isinstance(made, x.Call | x.Intrinsic):
                self.out.append(ExprStmt(made, self.span))
        elif isinstance(e.type, Struct):
            self.parts(e)
        else:  # a value nobody uses; its parts may still have effects
            self.value(e)

    def _effect_lazy(self, e: x.Logical | x.Conditional) -> None:
        if isinstance(e, x.Logical):
            cond = self.value(e.left)
            inner, _ = self.nested(lambda: self.effect(e.right))
            if inner:
                test = cond if e.op == "&&" else x.Unary("!", cond, BOOL)
                self.out.append(If(test, tuple(inner), (), self.span))
            return
        cond = self.value(e.cond)
        then, _ = self.nested(lambda: self.effect(e.then))
        other, _ = self.nested(lambda: self.effect(e.other))
        if then or other:
            self.out.append(If(cond, tuple(then), tuple(other), self.span))

    def body(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        outer, self.out = self.out, []
        for s in stmts:
            self._statement(s)
        made, self.out = tuple(self.out), outer
        return made

    def _statement(self, s: Stmt) -> None:
        self.span = s.span
        start = len(self.out)
        if isinstance(s, Decl):
            self._declare(s)
        elif isinstance(s, ExprStmt):
            self.effect(s.expr)
        elif isinstance(s, If):
            cond = self.value(s.cond)
            self.out.append(If(cond, self.body(s.then), self.body(s.other), s.span))
        elif isinstance(s, st.Return):
            self._return(s)
        elif isinstance(s, st.Block):
            self.out += self.body(s.body)
        elif isinstance(s, st.Switch):
            value = self.value(s.value)
            cases = tuple(replace(c, body=self.body(c.body)) for c in s.cases)
            if isinstance(value, VarRef) and value.var in assigned(tuple(b for c in cases for b in c.body)):
                value = self.held(x.Cast(value, value.type))  # a case changes it before the next is tested
            value = self.held(value)
            self.out.append(replace(s, value=value, cases=cases, comments=()))
        elif isinstance(s, st.For | st.While | st.DoWhile):
            self._loop(s)
        else:
            self.out.append(replace(s, comments=()))
        if s.comments and start < len(self.out):
            self.out[start] = replace(self.out[start], comments=s.comments)

    def _loop(self, s: st.For | st.While | st.DoWhile) -> None:
        span = s.span
        if isinstance(s, st.DoWhile):
            before, cond = self.nested(lambda: self.value(s.cond))
            self.out.append(st.DoWhile(self.body(s.body), cond, span, advance=tuple(before)))
            return
        init: tuple[Stmt, ...] = ()
        advance: tuple[Stmt, ...] = ()
        if isinstance(s, st.For):
            init = self.body(s.init)
            step = s.step
            inner, _ = self.nested(lambda: self.effect(step) if step is not None else None)
            advance = tuple(inner)
        test: Expr | None = None
        pre: Body = []
        if s.cond is not None:
            wanted = s.cond
            pre, test = self.nested(lambda: self.value(wanted))
        body = self.body(s.body)
        if pre and test is not None:  # the condition needs statements: test inside the loop
            leave = If(x.Unary("!", test, BOOL), (st.Break(span),), (), span)
            body, test = (*pre, leave, *body), None
        self.out.append(st.For(init, test, None, body, s.unroll, span, advance=advance))

    def _return(self, s: st.Return) -> None:
        if s.value is None or s.value.type == VOID:
            if s.value is not None:
                self.effect(s.value)
            self.out.append(st.Return(None, s.span))
        elif isinstance(s.value.type, Struct):
            items = x.Tuple(tuple(self.parts(s.value)), s.value.type, s.span)
            self.out.append(st.Return(items, s.span))
        else:
            self.out.append(st.Return(self.value(s.value), s.span))

    def _declare(self, s: Decl) -> None:
        v = s.var
        if v.ref:
            self._declare_reference(s)
            return
        b = self.bind(v)
        if b.one is not None and not isinstance(b.one.type, Array):
            self.out.append(Decl(b.one, None if s.init is None else self.value(s.init), s.span))
        elif b.one is not None:
            self.out.append(Decl(b.one, None, s.span))
            if s.init is not None:
                self._fill(v.type, m.Cells(b.one, (), b.one.type), s.init)
        elif b.split:
            self._declare_split(s, b.split)
        else:
            assert b.place is not None
            self._declare_box(b.place)
            if s.init is not None:
                values = (
                    self._array_values(v.type, s.init)
                    if isinstance(v.type, Array)
                    else self.parts(s.init)
                    if isinstance(v.type, Struct)
                    else [self.value(s.init)]
                )
                self.store(b.place, values)

    def _declare_reference(self, s: Decl) -> None:
        assert s.init is not None
        place = self.referent(s.init)
        if isinstance(place, m.Memory):
            # Fix the address now: what it was computed from may change later.
            held = self.fresh(s.var.name, place.pointer.type)
            self.out.append(Decl(held, m.pointer_to(place), s.span))
            self.bindings[s.var] = Binding(place=replace(place, pointer=VarRef(held), offset=None, const=0))
        elif isinstance(place, m.Cells):
            pointer = m.cells_pointer(place)
            held = self.fresh(s.var.name, pointer.type)
            self.out.append(Decl(held, pointer, s.span))
            unit = m.unit_of(s.var.type)
            self.bindings[s.var] = Binding(place=m.Memory(VarRef(held), unit, s.var.type, small=True))
        elif isinstance(place, m.Register):
            self.bindings[s.var] = Binding(place.var)
        else:
            self.bindings[s.var] = Binding(split=tuple(i.var for i in place.items if isinstance(i, VarRef)))

    def _declare_split(self, s: Decl, split: tuple[Var, ...]) -> None:
        slots = [VarRef(v) for v in split]
        t = s.var.type
        assert isinstance(t, Struct)
        if s.init is None:
            self.out += [Decl(v, None, s.span) for v in split]
        elif isinstance(s.init, x.LVALUES) and isinstance(p := self.place(s.init), m.Memory):
            self._load_into(p, t, slots, declare=True)
        else:
            values = self.parts(s.init)
            self.out += [Decl(v, value, s.span) for v, value in zip(split, values, strict=True)]

    def _fill(self, t: Type, at: m.Cells, e: Expr) -> None:
        """Initialises a scalar array element by element; C++ zeroes what the list leaves out."""
        assert isinstance(t, Array)
        for k, value in enumerate(self._array_values(t, e)):
            indices: list[Expr] = []
            rest, shape = k, t
            while True:
                inner = shape.of.size // m.unit_of(t).size
                indices.append(x.Literal(rest // inner, I32))
                rest %= inner
                if not isinstance(shape.of, Array):
                    break
                shape = shape.of
            self.out.append(self.set(x.Element(at.var, tuple(indices), value.type), value))

    # -- functions -------------------------------------------------------------------------------------

    def lowered_function(self) -> Function:
        f = self.function
        params: list[Var] = []
        entry: Body = []
        for p in f.params:
            if p.ref and not self.by_value(f.symbol, p):
                unit = m.unit_of(p.type)
                made = Var(p.uid, p.name, Pointer(unit, const=p.const), "param", span=p.span)
                params.append(made)
                self.bindings[p] = Binding(place=m.Memory(VarRef(made), unit, p.type))
                continue
            leaves = [
                Var(
                    next(self.uids),
                    f"{p.name}_{leaf.path}" if leaf.path else p.name,
                    m.lowered(leaf.type),
                    "param",
                )
                for leaf in m.leaves(p.type)
            ]
            params += leaves
            b = self.bind(p)
            if b.place is not None:
                self.out = []
                self._declare_box(b.place)
                self.store(b.place, [VarRef(v) for v in leaves])
                entry += self.out
                self.out = []
            elif b.one is not None:
                self.bindings[p] = Binding(leaves[0])
            else:
                self.bindings[p] = Binding(split=tuple(leaves))
        body = (*entry, *self.body(f.body))
        result = f.result if isinstance(f.result, Struct) else m.lowered(f.result)
        return replace(f, params=tuple(params), body=body, result=result)


def _items(e: Expr) -> tuple[Expr, ...]:
    return e.items if isinstance(e, x.Tuple) else (e,)


def _zero(t: Scalar | Pointer) -> Expr:
    if isinstance(t, Pointer):
        return x.Literal(0, m.lowered(t))
    return x.Literal(0.0 if t.is_float else 0, t)


def linearise(model: KernelModel, sink: Sink) -> KernelModel:
    """`model` with every function lowered to statements over scalars (see `linear`)."""
    uids = count(1 + max(v.uid for f in (*model.functions, model.kernel) for v in _variables(f)))
    functions = tuple(Linear(f, model, sink, uids).lowered_function() for f in model.functions)
    kernel = Linear(model.kernel, model, sink, uids).lowered_function()
    return replace(model, functions=functions, kernel=kernel)


def _variables(f: Function) -> list[Var]:
    return [Var(0, "", VOID), *f.params, *declared(f.body), *used(f.body)]
