"""The statement side of `linear`: assignments, declarations, struct values, loops' conditions."""

from __future__ import annotations

from dataclasses import replace

from translator.diag.diagnostic import Sink
from translator.model import expr as x
from translator.model import stmt as st
from translator.model.expr import Expr, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, ExprStmt, If, Stmt, Unpack
from translator.model.types import BOOL, I32, VOID, Array, Pointer, Scalar, Struct, Type
from translator.model.walk import fresh_uids, walk_expr
from translator.passes import memory as m
from translator.passes.loops import assigned
from translator.passes.structs import StructValues
from translator.passes.variables import Binding, Body


class Linear(StructValues):
    """Lowers whole bodies."""

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

    def _array_parameter(self, v: Var, leaves: list[Var]) -> Body:
        """An array passed by value inside a struct: a local array of its elements."""
        made: Body = [Decl(v, None, v.span)]
        for k, leaf in enumerate(leaves):
            indices: list[Expr] = []
            rest, t = k, v.type
            while isinstance(t, Array):
                inner = t.of.size // leaf.type.size
                indices.append(x.Literal(rest // inner, I32))
                rest, t = rest % inner, t.of
            made.append(self.set(x.Element(v, tuple(indices), leaf.type), VarRef(leaf)))
        return made

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
            elif b.one is not None and isinstance(b.one.type, Array):
                entry += self._array_parameter(b.one, leaves)
            elif b.one is not None:
                self.bindings[p] = Binding(leaves[0])
            else:
                self.bindings[p] = Binding(split=tuple(leaves))
        body = (*entry, *self.body(f.body))
        result = f.result if isinstance(f.result, Struct) else m.lowered(f.result)
        return replace(f, params=tuple(params), body=body, result=result)


def linearise(model: KernelModel, sink: Sink) -> KernelModel:
    """`model` with every function lowered to statements over scalars (see `linear`)."""
    uids = fresh_uids(model)
    functions = tuple(Linear(f, model, sink, uids).lowered_function() for f in model.functions)
    kernel = Linear(model.kernel, model, sink, uids).lowered_function()
    return replace(model, functions=functions, kernel=kernel)
