"""From accesses to buffers of a spec: element type, element count, how to fill it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from translator.analysis import values as v
from translator.analysis.access import Accesses
from translator.analysis.allocated import Room, exceeds, never_exceeds
from translator.analysis.fields import field_names, pointer_leaves
from translator.analysis.launch_shape import names_in, readable
from translator.analysis.poly import Poly, largest
from translator.analysis.values import LOADED, Access
from translator.model.expr import Var
from translator.model.kernel import KernelModel
from translator.model.types import VOID, Array, Pointer, Scalar, Struct, Type, leaf_scalars, uniform_scalar

DTYPES = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16",
    "f32": "float32", "f64": "float64", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
}  # fmt: skip


@dataclass(slots=True)
class Buffer:
    """Memory of the kernel as the spec describes it. `elems` counts scalars, or structs if `fields`."""

    name: str
    var: Var
    dtype: str
    unit: int  # bytes of one element
    fields: list[tuple[str, str, int]] = field(default_factory=list)  # (name, dtype, offset)
    elems: Poly | None = None
    complete: bool = True  # every access could be bounded
    init: str = ""
    limits: list[str] = field(default_factory=list)  # what bounds the values, if they index something
    host: Poly | None = None  # elements the host allocates, if known
    beyond: Poly | None = None  # elements up to the last one touched, where that is more than the host's


@dataclass(slots=True)
class Extents:
    """`multiples`: sizes that vector accesses want divisible; `offsets`: buffers whose values bound a loop.

    `tables`: sizes invented for buffers that loaded values index → (buffer, the source's own size if known).
    """

    buffers: dict[str, Buffer] = field(default_factory=dict)
    multiples: dict[str, int] = field(default_factory=dict)
    tables: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    offsets: set[str] = field(default_factory=set)


def element(t: Type) -> tuple[str, int, list[tuple[str, str, int]]] | None:
    """(dtype, bytes, fields) of a pointee; None if a spec can't describe it."""
    if t == VOID:
        return "uint8", 1, []
    if isinstance(t, Array):
        return element(t.of)
    one = uniform_scalar(t)
    if one is not None:
        return (DTYPES[one.name], one.size, []) if one.name in DTYPES else None
    leaves = leaf_scalars(t) if isinstance(t, Struct) else None
    if not leaves or any(not isinstance(s, Scalar) or s.name not in DTYPES for _, s in leaves):
        return None
    names = field_names(t)
    fields = [(n, DTYPES[str(s)], o) for n, (o, s) in zip(names, leaves, strict=True)]
    return "", t.size, fields


def extents(
    model: KernelModel,
    found: Accesses,
    allocated: Mapping[str, Room],
    blocks: set[str],
    known: Mapping[str, int],
) -> Extents:
    """Buffers of the model's pointers and globals, from accesses and from what the host allocated.

    Pointers are parameters, or fields of struct parameters, which are called `<param>_<field>`.
    `allocated` is by parameter, `blocks` are the sizes that number the grid's blocks, `known` the values that
    the source gives arguments. Buffers that can't be described are left out.
    """
    made = Extents()
    pointers: list[tuple[Var, Type]] = [
        (p, p.type.to) for p in model.kernel.params if isinstance(p.type, Pointer)
    ]
    pointers += [(leaf.var, leaf.type.to) for leaf in pointer_leaves(model) if isinstance(leaf.type, Pointer)]
    for var, t in pointers + [(g.var, g.var.type) for g in model.globals]:
        described = element(t)
        if described is not None:
            dtype, unit, fields = described
            made.buffers[var.name] = Buffer(var.name, var, dtype, unit, fields)
    for buffer in made.buffers.values():
        own = [a for a in found.accesses if a.root == buffer.name]
        buffer.complete = not model.partial
        _count(buffer, own, allocated)
        if isinstance(buffer.var.type, Pointer):  # a global has the size that its type says
            buffer.complete = buffer.complete and found.complete
        room = allocated.get(buffer.name)
        if room is not None and room.certain:
            _as_allocated(buffer, own, known)
    for a in found.accesses:
        _multiples(made, a, blocks)
    for a in found.accesses:
        _lookup(made, found, a)
    return made


def _count(buffer: Buffer, accesses: Sequence[Access], allocated: Mapping[str, Room]) -> None:
    bounds: list[Poly] = []
    for a in accesses:
        if a.offset.hi is None:
            buffer.complete = False
        elif not _loaded(a.offset.hi):
            bounds.append(_elements(buffer, a.offset.hi, a.size))
    room = allocated.get(buffer.name)
    host = None if room is None else room.elems
    if isinstance(buffer.var.type, Array):
        buffer.elems = Poly.const(buffer.var.type.size // buffer.unit)
        buffer.complete = True
        return
    if host is not None and isinstance(buffer.var.type, Pointer):
        host = host.times(max(1, buffer.var.type.to.size // buffer.unit))
    buffer.host = host
    looked_up = any(a.offset.hi is not None and _loaded(a.offset.hi) for a in accesses)
    if not isinstance(buffer.var.type, Pointer):
        buffer.elems = Poly.const(max(1, buffer.var.type.size // buffer.unit))
    elif bounds and (buffer.complete or host is None):
        kept = largest(bounds)
        total: Poly | None = kept[0]
        for other in kept[1:]:
            total = v.upper(total, other)
        buffer.elems = total
    elif not looked_up or not buffer.complete:
        buffer.elems = host


def _as_allocated(buffer: Buffer, accesses: Sequence[Access], known: Mapping[str, int]) -> None:
    """The host's size where it is of the same sizes as the accesses' bound, and that is no less, or is
    surely reached: a bound may be more than what is touched, and other sizes may hang together."""
    host, need = buffer.host, buffer.elems
    if host is None or need is None:
        return
    if buffer.complete and _alike(host, need) and (host.covers(need) or never_exceeds(need, host)):
        buffer.elems = host
        return
    ends = [(a.offset.hi, a.size) for a in accesses if a.reached]
    reached = [_elements(buffer, last, size) for last, size in ends if last is not None]
    more = [r for r in largest(reached) if _alike(host, r) and exceeds(r, host, known)]
    if more:
        buffer.elems, buffer.beyond = host, more[0]


def _alike(one: Poly, other: Poly) -> bool:
    return names_in(one.text()) == names_in(other.text())


def _elements(buffer: Buffer, last: Poly, size: int) -> Poly:
    """Elements up to an access of `size` bytes at byte `last`."""
    return v.quotient(last.plus(size + buffer.unit - 1), Poly.const(buffer.unit))


def _loaded(p: Poly) -> set[str]:
    return {s[1:] for s in p.symbols if s[0] == LOADED}


def _multiples(made: Extents, a: Access, blocks: set[str]) -> None:
    """A vector access at `row * n` needs n to be a multiple of the vector's length, unless the kernel comes
    there only where it is: then other sizes are the ones that show its other way."""
    buffer = made.buffers.get(a.root)
    if buffer is None or a.offset.hi is None or a.size <= buffer.unit or buffer.fields:
        return
    for monomial, factor in a.offset.hi.terms:
        vector = a.size // buffer.unit
        tested = any(name in monomial and by % vector == 0 for name, by in a.divided)
        if len(monomial) > 1 and factor % a.size and not tested:
            for size in monomial:
                if size.isidentifier() and size not in blocks:
                    made.multiples[size] = max(made.multiples.get(size, 1), vector)


def _lookup(made: Extents, found: Accesses, a: Access) -> None:
    """Values of buffers that index another: how large they may be, and the size of what they index."""
    indexed = made.buffers.get(a.root)
    for name in sorted(a.offset.loads & made.buffers.keys()):
        if name in found.loop_bounds:
            made.offsets.add(name)
            made.buffers[name].init = "arange"
    hi = a.offset.hi
    names = _loaded(hi) if hi is not None else set()
    if hi is None or len(names) > 1:
        return
    narrow = [n for n in a.offset.loads if n in made.buffers and n not in names]
    for narrow_name in narrow:
        _narrow(made.buffers[narrow_name], a)
    if not names:
        return
    (name,) = names
    source = made.buffers.get(name)
    split = _split(hi, LOADED + name)
    if source is None or split is None or source.fields:
        return
    factor, rest = split
    unit = indexed.unit if indexed is not None else a.size
    stride, first = v.quotient(factor, Poly.const(unit)), v.quotient(rest.plus(a.size), Poly.const(unit))
    values = source.elems if name in made.offsets else _bound(indexed, a, stride, first, made)
    if values is None:
        return
    if indexed is not None and not isinstance(indexed.var.type, Array):
        needed = values.plus(-1) * stride + first
        indexed.elems = needed if indexed.elems is None else v.upper(indexed.elems, needed)
    if name not in made.offsets:
        _limit(source, values.text())


def _bound(indexed: Buffer | None, a: Access, stride: Poly, first: Poly, made: Extents) -> Poly | None:
    """How many different values may index: what the table holds already, else a size of its own."""
    if indexed is None:
        shared = a.root.partition("#")
        return None if not shared[1] else _shared_bound(a, stride)
    name = f"{indexed.name}_rows" if stride.constant is None else f"{indexed.name}_count"
    if name in made.tables:
        return Poly.symbol(name)
    own: int | None = None
    known = indexed.elems if indexed.elems is not None else indexed.host
    if known is not None:
        room = known - first
        rows = room.divide(stride) if room.covers(Poly()) else None
        if rows is not None:
            if indexed.elems is not None or rows.constant is None:
                return rows.plus(1)
            own = rows.constant + 1
    made.tables[name] = (indexed.name, own)
    return Poly.symbol(name)


def _shared_bound(a: Access, stride: Poly) -> Poly | None:
    count = a.room
    return None if count is None else v.quotient(Poly.const(count // max(1, a.size)), stride)


def _split(p: Poly, symbol: str) -> tuple[Poly, Poly] | None:
    """(factor, rest) of `p = factor * symbol + rest`; None if the symbol is squared."""
    factor: dict[tuple[str, ...], int] = {}
    rest: dict[tuple[str, ...], int] = {}
    for m, c in p.terms:
        times = m.count(symbol)
        if times > 1:
            return None
        if times:
            factor[tuple(s for s in m if s != symbol)] = c
        else:
            rest[m] = c
    return Poly.of(factor), Poly.of(rest)


def _narrow(source: Buffer, a: Access) -> None:
    """Values of a narrow type that index something stay in the type's natural range, or in the array."""
    top = {"uint8": 256, "bool": 2, "int8": 128}.get(source.dtype)
    last = a.offset.hi.constant if a.offset.hi is not None else None
    if top is not None and a.room is not None and last is not None and last >= a.room:
        top = min(top, max(1, a.room // max(1, a.size)))
    if top is not None and not source.init:
        _limit(source, str(top))


def _limit(source: Buffer, text: str) -> None:
    """Values of `source` are below `text` too."""
    if text not in source.limits:
        source.limits.append(text)
    one = source.limits[0] if len(source.limits) == 1 else f"min({', '.join(source.limits)})"
    source.init = f"index:{one if readable(one) else '1'}"
