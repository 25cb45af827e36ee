"""How C++ objects lie in memory once structs are gone.

Every pointer points to scalars: to the one scalar a struct is made of where it is uniform (`float4*` →
f32), otherwise to bytes. A place says where an lvalue lives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from translator.model.expr import Binary, Cast, Decay, Element, Expr, Index, Literal, PtrAdd, Var, VarRef
from translator.model.types import (
    I32,
    I64,
    U8,
    U64,
    Array,
    Pointer,
    Scalar,
    Struct,
    Type,
    dimensions,
    uniform_scalar,
)

SMALL = 1 << 30  # below this many bytes an object can be indexed in 32 bits


def unit_of(t: Type) -> Scalar:
    """The scalar that objects of type `t` are addressed in."""
    if isinstance(t, Array):
        t = dimensions(t)[1]
    if isinstance(t, Scalar):
        return t if t.bits else U8  # void* counts bytes
    return U64 if isinstance(t, Pointer) else uniform_scalar(t) or U8


def lowered(t: Type) -> Type:
    """The type of a register or array variable declared as `t` (not for split structs)."""
    if isinstance(t, Pointer):
        return replace(t, to=unit_of(t.to))
    if isinstance(t, Array) and not isinstance(dimensions(t)[1], Scalar):
        return (
            Array(unit_of(t), t.size // unit_of(t).size) if t.count is not None else Array(unit_of(t), None)
        )
    return t


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar or pointer within a struct; `path` joins the field names (`pos_x`, `m_3`)."""

    path: str
    offset: int  # bytes
    type: Scalar | Pointer


def leaves(t: Type, path: str = "", offset: int = 0) -> list[Leaf]:
    """All leaves of `t` in memory order; arrays inside are unrolled."""
    if isinstance(t, Scalar | Pointer):
        return [Leaf(path, offset, t)]
    if isinstance(t, Array):
        return [
            leaf
            for k in range(t.count or 0)
            for leaf in leaves(t.of, f"{path}_{k}" if path else str(k), offset + k * t.of.size)
        ]
    return [
        leaf
        for f in t.fields
        for leaf in leaves(f.type, f"{path}_{f.name}" if path else f.name, offset + f.offset)
    ]


def leaf_range(t: Struct, name: str) -> slice:
    """Which of the leaves of `t` belong to its field `name`."""
    start = 0
    for f in t.fields:
        count = len(leaves(f.type))
        if f.name == name:
            return slice(start, start + count)
        start += count
    raise KeyError(name)


def has_array(t: Type) -> bool:
    return isinstance(t, Array) or (isinstance(t, Struct) and any(has_array(f.type) for f in t.fields))


@dataclass(frozen=True, slots=True)
class Register:
    """A scalar or pointer variable of its own."""

    var: Var


@dataclass(frozen=True, slots=True)
class Parts:
    """A struct whose leaves are register variables (or, for an rvalue, expressions)."""

    items: tuple[Expr, ...]
    type: Struct


@dataclass(frozen=True, slots=True)
class Cells:
    """A scalar array variable with its first `len(indices)` dimensions chosen; `type` is what is left."""

    var: Var
    indices: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Memory:
    """An object of type `type` at `pointer + offset + const`, in units of `unit`."""

    pointer: Expr
    unit: Scalar
    type: Type
    offset: Expr | None = None
    const: int = 0
    small: bool = False


Place: TypeAlias = Register | Parts | Cells | Memory


def add(a: Expr | None, b: Expr) -> Expr:
    """a + b for index expressions, in the wider of their types."""
    if a is None:
        return b
    if a.type != b.type:
        a, b = (widened(x) for x in (a, b))
    return Binary("+", a, b, a.type, b.span)


def widened(e: Expr) -> Expr:
    """An index expression in 64 bits, extended by its own signedness."""
    if isinstance(e, Literal):
        return replace(e, type=I64)
    return e if e.type == I64 else Cast(e, I64, e.span)


def scaled(index: Expr, scale: int, small: bool) -> Expr:
    """index * scale; in 64 bits unless the object is small, as C++ computes addresses."""
    if scale == 1:
        return index
    if isinstance(index, Literal):
        return replace(index, value=int(index.value) * scale, name="", type=I32 if small else I64)
    if not small:
        index = widened(index)
    elif index.type != I32:
        index = Cast(index, I32, index.span)
    return Binary("*", index, Literal(scale, index.type), index.type, index.span)


def step(p: Memory | Cells, index: Expr, to: Type) -> Place:
    """The place of element `index` of an array place."""
    if isinstance(p, Cells):
        return Cells(p.var, (*p.indices, index), to)
    offset = scaled(index, to.size // p.unit.size, p.small)
    if isinstance(offset, Literal):
        return replace(p, type=to, const=p.const + int(offset.value))
    return replace(p, type=to, offset=add(p.offset, offset))


def index_of(p: Memory) -> Expr:
    """The whole offset of `p` in units, as one expression."""
    if p.offset is None:
        return Literal(p.const, index_type(p.const))
    if not p.const:
        return p.offset
    return add(p.offset, Literal(p.const, p.offset.type if index_type(p.const) == I32 else I64))


def index_type(value: int) -> Scalar:
    """The type of a constant index."""
    return I32 if -(1 << 31) <= value < 1 << 31 else I64


def pointer_to(p: Memory, want: Scalar | None = None) -> Expr:
    """A pointer to the first `want` (default: unit) of the object at `p`."""
    found = p.pointer
    assert isinstance(found.type, Pointer)
    if p.offset is not None or p.const:
        found = PtrAdd(found, index_of(p), found.type, found.span)
    if want is not None and want != p.unit:
        assert isinstance(found.type, Pointer)
        found = Cast(found, replace(found.type, to=want), found.span)
    return found


def cells_pointer(p: Cells) -> Expr:
    """A pointer to the first scalar of what `p` leaves unchosen."""
    t = p.var.type
    unit = unit_of(t)
    base: Expr = Decay(VarRef(p.var), Pointer(unit))
    offset: Expr | None = None
    for index in p.indices:
        assert isinstance(t, Array)
        t = t.of
        stride = t.size // unit.size
        offset = add(offset, scaled(index, stride, True))
    if offset is None or (isinstance(offset, Literal) and offset.value == 0):
        return base
    return PtrAdd(base, offset, base.type)


def scalar_at(p: Memory, t: Scalar | Pointer) -> Expr:
    """The lvalue (or, for a pointer kept in memory, the value) of type `t` at `p`."""
    want = t if isinstance(t, Scalar) else U64
    if p.unit == want:
        array = p.pointer.array if isinstance(p.pointer, Decay) else None
        if isinstance(array, VarRef) and isinstance(array.type, Array) and array.type.of == want:
            found: Expr = Element(array.var, (index_of(p),), want)
        else:
            found = Index(p.pointer, index_of(p), want, p.pointer.span)
    else:
        found = Index(pointer_to(p, want), Literal(0, I32), want, p.pointer.span)
    return found if isinstance(t, Scalar) else Cast(found, lowered(t))


def load_chunk(t: Struct, unit: Scalar) -> int:
    """How many scalars one vector access of a `t` may move, by its alignment; 1 means scalar accesses."""
    if uniform_scalar(t) != unit:
        return 1
    chunk = min(t.align, 16) // unit.size
    return chunk if chunk > 1 and (t.size // unit.size) % chunk == 0 else 1
