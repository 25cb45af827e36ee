"""The arguments of a drafted spec: scalars, buffers, structs, globals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from translator.analysis.access import Accesses
from translator.analysis.allocated import allocations, rooms
from translator.analysis.draft import Draft
from translator.analysis.extents import DTYPES, Buffer, Extents
from translator.analysis.fields import leaves
from translator.analysis.launch_shape import names_in, poly_of
from translator.analysis.partial import sizes_in
from translator.analysis.poly import Poly
from translator.analysis.roles import Role
from translator.analysis.starts import shortest, source_values, start, unknown
from translator.model.expr import Var
from translator.model.kernel import Global
from translator.model.types import BOOL, Pointer, Scalar, Struct

_FLOATS = (0.5, 1.25, -0.75, 2.5)  # values of float arguments nobody gave, in turn


def arguments(
    draft: Draft, described: Extents, use: Mapping[Var, Role], found: Accesses
) -> list[dict[str, object]]:
    """A table for each parameter, in their order; what can't be described is asked about."""
    made: list[dict[str, object]] = []
    values = draft.launch.arg_values if draft.launch is not None else ()
    asked = _asked(draft, described, found)
    fields = draft.launch.arg_fields if draft.launch is not None else ()
    for k, p in enumerate(draft.model.kernel.params):
        value = values[k] if k < len(values) else None
        if isinstance(p.type, Pointer):
            buffer = described.buffers.get(p.name)
            if buffer is None:
                draft.ask("CP3108", param=p.name, type=str(p.type))
                continue
            made.append(_buffer(draft, described, buffer, use.get(p, "inout")))
        elif isinstance(p.type, Scalar):
            made.append(_scalar(draft, p.name, p.type, value, asked))
        elif isinstance(p.type, Struct):
            if draft.model.partial and not p.type.fields and p.type.size > 1:
                draft.ask("CP3108", param=p.name, type=str(p.type))
            made.append(
                _struct(draft, p, p.type, fields[k] if k < len(fields) else (), asked, described, use)
            )
        else:
            draft.ask("CP3108", param=p.name, type=str(p.type))
    return made


def _asked(draft: Draft, described: Extents, found: Accesses) -> set[str]:
    """Scalars that something's size depends on."""
    texts = [*draft.grid, *draft.block, draft.smem]
    texts += [b.elems.text() for b in described.buffers.values() if b.elems is not None]
    texts += [
        b.init.removeprefix("index:") for b in described.buffers.values() if b.init.startswith("index:")
    ]
    texts += [w.text() for w in found.work]
    return {n for t in texts for n in names_in(t)} | described.tables.keys() | sizes_in(draft)


def _scalar(
    draft: Draft, name: str, t: Scalar, value: float | int | None, asked: set[str]
) -> dict[str, object]:
    made: dict[str, object] = {"name": name, "kind": "scalar", "dtype": DTYPES.get(t.name, t.name)}
    before = len(draft.assumed)
    made["value"] = _value(draft, name, t, value, asked)
    if len(draft.assumed) > before and t.is_float:
        draft.drawn.append(name)
    return made


def _value(draft: Draft, name: str, t: Scalar, value: float | int | None, asked: set[str]) -> object:
    if t != BOOL and name in asked:
        known = value is not None and 0 < value < 1 << 31  # of a float, neither NaN nor infinity
        draft.sizes[name] = int(value) if known and value is not None else None
        return name
    if value is not None and value == value and abs(value) != float("inf"):
        return bool(value) if t == BOOL else shortest(value, t) if t.is_float else int(value)
    if t == BOOL:
        chosen: object = True
    elif t.is_float:
        chosen = _FLOATS[len(draft.assumed) % len(_FLOATS)]
    else:
        chosen = 1
    draft.assumed.append((name, chosen))
    return chosen


def _struct(
    draft: Draft,
    p: Var,
    t: Struct,
    given: Sequence[float | int | None],
    asked: set[str],
    described: Extents,
    use: Mapping[Var, Role],
) -> dict[str, object]:
    fields: list[dict[str, object]] = []
    inside = leaves(p)
    if len(given) != len(inside):
        given = [None] * len(inside)
    for leaf, known in zip(inside, given, strict=True):
        buffer = described.buffers.get(leaf.var.name)
        if isinstance(leaf.type, Pointer) and buffer is not None and buffer.var == leaf.var:
            memory = _memory(draft, described, buffer, use.get(leaf.var, "inout"))
            fields.append({"name": leaf.name, "offset": leaf.offset, "buffer": memory})
        elif isinstance(leaf.type, Scalar) and leaf.type.name in DTYPES:
            value = _value(draft, leaf.var.name, leaf.type, known, asked)
            dtype = DTYPES[leaf.type.name]
            fields.append({"name": leaf.name, "dtype": dtype, "offset": leaf.offset, "value": value})
        else:
            draft.ask("CP3108", param=f"{p.name}.{leaf.name}", type=str(leaf.type))
    return {"name": p.name, "kind": "struct", "size": t.size, "fields": fields}


def _buffer(draft: Draft, described: Extents, buffer: Buffer, role: Role) -> dict[str, object]:
    return {"name": buffer.name, "kind": "buffer", **_memory(draft, described, buffer, role)}


def _memory(
    draft: Draft, described: Extents, buffer: Buffer, role: Role, of: Global | None = None
) -> dict[str, object]:
    """What the spec says of a buffer but for its name; `of` is the global that it is."""
    made: dict[str, object] = {"size": buffer.unit} if buffer.fields else {"dtype": buffer.dtype}
    made["elems"] = _elements(draft, described, buffer)
    made["role"] = role
    own = source_values(of, role)
    if buffer.name in described.offsets and own is None:
        draft.ask("CP3107", buffer=buffer.name)
    if buffer.fields:
        count = len(buffer.fields)
        made["fields"] = [
            {"name": n, "dtype": d, "offset": o, **start(own, k, count, d)}
            for k, (n, d, o) in enumerate(buffer.fields)
        ]
    else:
        first = buffer.init or unknown(draft.model, buffer, role, _zeroed(draft, buffer.name))
        made |= {"init": first} if own is None else start(own, 0, 1, buffer.dtype)
    return made


def _zeroed(draft: Draft, name: str) -> bool:
    made = allocations(draft.model, draft.launch).get(name)
    return made is not None and made.zeroed


def _elements(draft: Draft, described: Extents, buffer: Buffer) -> str:
    if buffer.elems is None:
        sizes = [s for s in draft.sizes if s.isidentifier()]
        assumed = " * ".join(sizes[:2]) if sizes else "1024"
        buffer.elems = poly_of(assumed)
        draft.ask("CP3104", buffer=buffer.name, elems=assumed)
    elif not buffer.complete:
        host = buffer.name in rooms(draft.model, draft.launch)
        why = "the host allocates it" if host else "the accesses that could"
        if buffer.beyond is None:
            draft.ask("CP3105", buffer=buffer.name, elems=buffer.elems.text(), why=why)
    if buffer.beyond is not None and buffer.elems is not None:
        at = allocations(draft.model, draft.launch)[buffer.name].span
        draft.ask(
            "CP3111",
            at,
            buffer=buffer.name,
            kernel=draft.model.kernel.name,
            place=f"{Path(at.path).name}:{at.line}",
            elems=buffer.elems.text(),
            beyond=buffer.beyond.text(),
        )
    for size, (of, own) in described.tables.items():
        if of == buffer.name:
            draft.sizes.setdefault(size, own)
            draft.ask("CP3110", size=size, buffer=buffer.name)
    # a halo or a difference of sizes may leave nothing for small sizes; a buffer has one element at least
    return buffer.elems.text() if buffer.elems.covers(Poly.const(1)) else f"max({buffer.elems.text()}, 1)"


def globals_(draft: Draft, described: Extents, use: Mapping[Var, Role]) -> list[dict[str, object]]:
    """A table for each global that the kernel uses."""
    made = []
    for g in draft.model.globals:
        buffer = described.buffers.get(g.var.name)
        if buffer is None:
            draft.ask("CP3108", param=g.var.name, type=str(g.var.type))
            continue
        memory = _memory(draft, described, buffer, use.get(g.var, "in"), g)
        made.append({"name": buffer.name, "kind": "buffer", **memory, "symbol": g.var.name})
    return made
