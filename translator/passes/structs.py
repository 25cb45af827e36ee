"""Struct values as their leaves: built, loaded and stored."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from translator.model import expr as x
from translator.model.expr import Expr, VarRef
from translator.model.stmt import Decl, If, Unpack, VectorStore
from translator.model.types import U64, VOID, Array, Pointer, Scalar, Struct, Type
from translator.passes import memory as m
from translator.passes.linear import Lower


class StructValues(Lower):
    """Lowers struct values; assignments and statements come on top."""

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


def _items(e: Expr) -> tuple[Expr, ...]:
    return e.items if isinstance(e, x.Tuple) else (e,)


def _zero(t: Scalar | Pointer) -> Expr:
    if isinstance(t, Pointer):
        return x.Literal(0, m.lowered(t))
    return x.Literal(0.0 if t.is_float else 0, t)
