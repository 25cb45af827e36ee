"""A first `spec.toml` for a port: launch, arguments, shapes, and questions for what stays open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from translator.analysis.access import Accesses, Shape, accesses
from translator.analysis.allocated import allocations, given, rooms
from translator.analysis.blocks import block_arguments, dynamic_shared_bytes, uses_axis, uses_dynamic_shared
from translator.analysis.cases import Case, Sized
from translator.analysis.extents import DTYPES, Buffer, Extents, extents
from translator.analysis.fields import leaves
from translator.analysis.launch_shape import c_text, marked, names_in, number, poly_of, readable
from translator.analysis.poly import Poly
from translator.analysis.roles import Role, float_atomics, roles
from translator.analysis.settle import settle
from translator.analysis.spec_text import key, quoted, table
from translator.analysis.starts import shortest, source_values, start, unknown
from translator.analysis.values import LAUNCHED, LOADED
from translator.diag.codes import CODES
from translator.diag.diagnostic import Sink, Span
from translator.model import expr as x
from translator.model.expr import Var
from translator.model.kernel import Global, HostExpr, KernelModel, Launch
from translator.model.types import BOOL, Pointer, Scalar, Struct
from translator.model.walk import walk_exprs

_DEFAULT_BLOCK = 256
_FLOATS = (0.5, 1.25, -0.75, 2.5)  # values of float arguments nobody gave, in turn


class Port(Protocol):
    """What the draft needs to know of the port."""

    @property
    def entry(self) -> str: ...
    @property
    def renames(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def opt_level(self) -> int | None: ...


@dataclass(slots=True)
class _Draft:
    model: KernelModel
    sink: Sink
    launch: Launch | None
    grid: list[str] = field(default_factory=list)
    block: list[str] = field(default_factory=list)
    smem: str = "0"
    sizes: dict[str, int | None] = field(default_factory=dict)  # name → value in the source, if constant
    questions: list[tuple[str, str]] = field(default_factory=list)
    assumed: list[tuple[str, object]] = field(default_factory=list)  # scalars nobody gave a value

    def ask(self, code: str, at: Span | None = None, **args: str) -> None:
        """A question in the spec, and a note in the report, at the kernel or where it comes from."""
        text = CODES[code].message.format(**args)
        if (code, text) not in self.questions:
            self.questions.append((code, text))
            self.sink.report(code, at or self.model.kernel.span, **args)


def draft_spec(model: KernelModel, port: Port, sink: Sink) -> str:
    """The text of `spec.toml` for a lifted (not lowered) model and its port."""
    draft = _Draft(model, sink, _best(model.launches))
    everywhere = accesses(model, _unknown_grid(model, draft.launch))
    shape = _shape(draft, everywhere)
    found = accesses(model, shape)
    _shared(draft, found)
    allocated = rooms(draft.model, draft.launch)
    blocks = {s for p in shape.grid for s in p.symbols}
    described = extents(model, found, allocated, blocks, given(draft.model, draft.launch))
    use = roles(model)
    args = _arguments(draft, described, use, found)
    args += _globals(draft, described, use)
    if draft.assumed:
        names = ", ".join(name for name, _ in draft.assumed)
        draft.ask("CP3106", scalars=names, values=", ".join(str(n) for _, n in draft.assumed))
    shapes = _settled(draft, args, found, described)
    lines = _head(draft, port)
    renamed = dict(port.renames)
    for arg in args:
        lines += ["", "[[arg]]", *table(arg, renamed)]
    for case in shapes:
        sizes = ", ".join(f"{key(k)} = {n}" for k, n in case.sizes.items())
        lines += [
            "",
            "[[case]]",
            f"name = {quoted(case.name)}",
            f'role = "{case.role}"',
            f"sizes = {{ {sizes} }}",
        ]
    lines += ["", "[tolerance]", 'rule = "original"']
    if float_atomics(model):
        lines.append("order_dependent = true")
    for code, text in draft.questions:
        lines += ["", "[[question]]", f'code = "{code}"', f"text = {quoted(text)}"]
    return "\n".join(lines) + "\n"


def _settled(draft: _Draft, args: list[dict[str, object]], found: Accesses, described: Extents) -> list[Case]:
    """The cases. What no case can satisfy is replaced in the draft and its `args`, and asked about."""
    named = _buffers_of(args)
    buffers = [b for _, b in named]
    elems = [str(b["elems"]) for b in buffers]
    for text in (*draft.grid, *draft.block, draft.smem, *elems):
        for name in sorted(names_in(text) if readable(text) else ()):
            draft.sizes.setdefault(name, None)
    wanted = Sized(
        tuple(draft.sizes),
        _three(draft.grid),
        _three(draft.block),
        draft.smem,
        tuple(elems),
        tuple(w.text() for w in sorted(found.work, key=lambda w: w.text())),
        described.multiples,
        {k: n for k, n in draft.sizes.items() if n is not None},
    )
    settled = settle(wanted, [name for name, _ in named], _taken(draft.model))
    made, kernel = settled.wanted, draft.model.kernel.name

    def short(texts: Sequence[str]) -> str:
        text = " x ".join(texts)
        return text if len(text) < 200 else text[:197] + "..."

    for (name, buffer), text in zip(named, made.elems, strict=True):
        if name in settled.fresh:
            buffer["elems"] = text
            draft.ask("CP3104", buffer=name, elems=text)
    if "grid" in settled.fresh:
        draft.ask("CP3102", kernel=kernel, text=short(draft.grid), grid=" x ".join(made.grid))
    if "block" in settled.fresh:
        draft.ask("CP3103", kernel=kernel, text=short(draft.block), block=" x ".join(made.block))
    if "smem" in settled.fresh:
        draft.ask("CP3109", kernel=kernel, text=short([draft.smem]), smem=made.smem)
    draft.grid, draft.block, draft.smem = [*made.grid], [*made.block], made.smem
    for buffer in buffers:
        init = str(buffer.get("init", ""))
        if init.startswith("index:"):
            buffer["init"] = f"index:{_limit(init.removeprefix('index:'), settled.cases)}"
    return settled.cases


def _buffers_of(args: Sequence[dict[str, object]]) -> list[tuple[str, dict[str, object]]]:
    """(name, entry) of all memory, that of struct fields too."""
    found = []
    for a in args:
        if "elems" in a:
            found.append((str(a["name"]), a))
        fields = a["fields"] if a["kind"] == "struct" else []
        for f in fields if isinstance(fields, list) else ():
            if "buffer" in f:
                found.append((f"{a['name']}_{f['name']}", f["buffer"]))
    return found


def _limit(text: str, shapes: Sequence[Case]) -> str:
    """What indices stay below: at least 1 in every case, and 1 if it has no value in one."""
    found = [number(text, case.sizes) for case in shapes]
    if any(n is None for n in found):
        return "1"
    return text if all(n is not None and n >= 1 for n in found) else f"max({text}, 1)"


def _taken(model: KernelModel) -> set[str]:
    """Names of the arguments, and of what is in them: an expression that says one means it."""
    params = model.kernel.params
    inner = {leaf.var.name for p in params for leaf in leaves(p)}
    return {p.name for p in params} | {g.var.name for g in model.globals} | inner


# ---- launch


def _best(launches: Sequence[Launch]) -> Launch | None:
    """The launch that says most: block known, then grid in terms of the arguments."""

    def known(launch: Launch) -> tuple[bool, bool, bool]:
        block = all(a.value is not None or a.python for a in launch.block)
        grid = all(a.python for a in launch.grid)
        return block, grid, any(not a.python.isdigit() for a in launch.grid)

    return max(launches, key=known, default=None)


def _axis(e: HostExpr) -> str:
    """Python of an axis: in terms of the arguments where it can be, else the constant, else nothing."""
    return e.python or ("" if e.value is None else str(e.value))


def _block(model: KernelModel, launch: Launch | None) -> list[str]:
    if launch is not None:
        made = [_axis(e) for e in launch.block]
        if all(made):
            return made
    own = min(model.kernel.max_threads or _DEFAULT_BLOCK, 1024)
    if launch is None and (named := block_arguments(model)):
        return named
    if launch is None and uses_axis(model, "y"):
        return ["32", str(max(1, min(8, own // 32))), "1"]
    return [str(own), "1", "1"]


def _unknown_grid(model: KernelModel, launch: Launch | None) -> Shape:
    block = [marked(poly_of(t)) for t in _block(model, launch)]
    x_, y_, z_ = (Poly.symbol(f"{LAUNCHED}grid_{a}") for a in "xyz")
    return Shape((x_, y_, z_), (block[0], block[1], block[2]))


def _shape(draft: _Draft, free: Accesses) -> Shape:
    """Fills in the draft's grid and block, and gives the launch as polynomials."""
    model, launch = draft.model, draft.launch
    name = model.kernel.name
    block = _block(model, launch)
    draft.block = [c_text(t) for t in block]
    if launch is None:
        draft.ask("CP3101", kernel=name, block=" x ".join(draft.block))
    elif not all(_axis(e) for e in launch.block):
        draft.ask("CP3103", kernel=name, text=_written(launch.block), block=" x ".join(draft.block))
    grid: list[str] = []
    uncertain = False
    for k, axis in enumerate("xyz"):
        given = "" if launch is None else _axis(launch.grid[k])
        cover = free.covers.get(k)
        if cover is not None and any(s[0] == LOADED for s in cover[0].symbols):
            cover = None  # what memory holds is no argument
        if given and (not given.isdigit() or given == "1" or cover is not None):
            grid.append(given)
        elif given:
            # a constant that nothing in the kernel depends on stands for a number of rows
            size = f"grid_{axis}"
            draft.sizes[size] = int(given)
            grid.append(size)
        elif cover is not None:
            whole, per_block = cover
            top = whole.text() if per_block == 1 else f"({whole.plus(per_block - 1).text()}) // {per_block}"
            grid.append(top.replace(" / ", " // "))
            uncertain = True
        else:
            grid.append(_invented(draft, launch, k, axis))
            uncertain = uncertain or grid[-1] != "1"
    draft.grid = [c_text(t) for t in grid]
    if uncertain:
        text = _written(launch.grid) if launch is not None else "not seen"
        draft.ask("CP3102", kernel=name, text=text, grid=" x ".join(draft.grid))
    g, b = [marked(poly_of(t)) for t in grid], [marked(poly_of(t)) for t in block]
    return Shape((g[0], g[1], g[2]), (b[0], b[1], b[2]))


def _invented(draft: _Draft, launch: Launch | None, k: int, axis: str) -> str:
    """A size of its own for a grid axis that follows from nothing; 1 where the kernel doesn't use it."""
    used = any(
        isinstance(e, x.Special) and e.base in ("blockIdx", "gridDim") and e.axis == axis
        for f in (draft.model.kernel, *draft.model.functions)
        for e in walk_exprs(f.body)
    )
    if not used and (launch is None or k):
        return "1"
    text = "" if launch is None else launch.grid[k].text
    size = text if text.isidentifier() and text not in _taken(draft.model) else f"grid_{axis}"
    draft.sizes.setdefault(size, None)
    return size


def _shared(draft: _Draft, found: Accesses) -> None:
    """The bytes of dynamic shared memory: the launch's, or as many as the kernel is seen to touch."""
    kernel, launch = draft.model.kernel.name, draft.launch
    given = "" if launch is None else _axis(launch.shared_bytes)
    if given:
        draft.smem = c_text(given)
    elif launch is not None or uses_dynamic_shared(draft.model):
        touched = dynamic_shared_bytes(draft.model, found) if launch is None else None
        draft.smem = touched or "49152"
        text = launch.shared_bytes.text if launch is not None else "no launch seen"
        draft.ask("CP3109", kernel=kernel, text=text, smem=draft.smem)


def _written(axes: Sequence[HostExpr]) -> str:
    texts = [a.text for a in axes]
    while len(texts) > 1 and texts[-1] == "1":
        texts.pop()
    return ", ".join(texts)


def _three(texts: Sequence[str]) -> tuple[str, str, str]:
    return texts[0], texts[1], texts[2]


# ---- arguments


def _arguments(
    draft: _Draft, described: Extents, use: Mapping[Var, Role], found: Accesses
) -> list[dict[str, object]]:
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
            made.append(
                _struct(draft, p, p.type, fields[k] if k < len(fields) else (), asked, described, use)
            )
        else:
            draft.ask("CP3108", param=p.name, type=str(p.type))
    return made


def _asked(draft: _Draft, described: Extents, found: Accesses) -> set[str]:
    """Scalars that something's size depends on."""
    texts = [*draft.grid, *draft.block, draft.smem]
    texts += [b.elems.text() for b in described.buffers.values() if b.elems is not None]
    texts += [
        b.init.removeprefix("index:") for b in described.buffers.values() if b.init.startswith("index:")
    ]
    texts += [w.text() for w in found.work]
    return {n for t in texts for n in names_in(t)} | described.tables.keys()


def _scalar(
    draft: _Draft, name: str, t: Scalar, value: float | int | None, asked: set[str]
) -> dict[str, object]:
    made: dict[str, object] = {"name": name, "kind": "scalar", "dtype": DTYPES.get(t.name, t.name)}
    made["value"] = _value(draft, name, t, value, asked)
    return made


def _value(draft: _Draft, name: str, t: Scalar, value: float | int | None, asked: set[str]) -> object:
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
    draft: _Draft,
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


def _buffer(draft: _Draft, described: Extents, buffer: Buffer, role: Role) -> dict[str, object]:
    return {"name": buffer.name, "kind": "buffer", **_memory(draft, described, buffer, role)}


def _memory(
    draft: _Draft, described: Extents, buffer: Buffer, role: Role, of: Global | None = None
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
        first = buffer.init or unknown(draft.model, buffer, role)
        made |= {"init": first} if own is None else start(own, 0, 1, buffer.dtype)
    return made


def _elements(draft: _Draft, described: Extents, buffer: Buffer) -> str:
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


def _globals(draft: _Draft, described: Extents, use: Mapping[Var, Role]) -> list[dict[str, object]]:
    made = []
    for g in draft.model.globals:
        buffer = described.buffers.get(g.var.name)
        if buffer is None:
            draft.ask("CP3108", param=g.var.name, type=str(g.var.type))
            continue
        memory = _memory(draft, described, buffer, use.get(g.var, "in"), g)
        made.append({"name": buffer.name, "kind": "buffer", **memory, "symbol": g.var.name})
    return made


# ---- text


def _head(draft: _Draft, port: Port) -> list[str]:
    model = draft.model

    def three(texts: Sequence[str]) -> str:
        return "[" + ", ".join(quoted(t) for t in texts) + "]"

    return [
        "schema = 1",
        f"name = {quoted(port.entry)}",
        "",
        "[original]",
        'source = "original/device.cu"',
        f"kernel = {quoted(model.cuda_name or model.kernel.name)}",
        f"std = {quoted(model.source.std)}",
        "defines = []",
        "flags = []",
        "",
        "[port]",
        'module = "port.py"',
        f"entry = {quoted(port.entry)}",
        *([] if port.opt_level is None else [f"opt_level = {port.opt_level}"]),
        "",
        "[launch]",
        f"grid = {three(draft.grid)}",
        f"block = {three(draft.block)}",
        f"smem = {quoted(draft.smem)}",
    ]
