"""A first `spec.toml` for a port: launch, arguments, shapes, and questions for what stays open."""

from __future__ import annotations

from collections.abc import Sequence

from translator.analysis.access import Accesses, Shape, accesses
from translator.analysis.allocated import given, rooms
from translator.analysis.blocks import block_arguments, dynamic_shared_bytes, uses_axis, uses_dynamic_shared
from translator.analysis.cases import Case, Sized
from translator.analysis.draft import Draft, Port
from translator.analysis.draft_arguments import arguments, globals_
from translator.analysis.extents import Extents, extents
from translator.analysis.fields import leaves
from translator.analysis.launch_shape import c_text, marked, names_in, number, poly_of, readable
from translator.analysis.partial import by_sizes, roles_of
from translator.analysis.poly import Poly
from translator.analysis.roles import float_atomics
from translator.analysis.settle import settle
from translator.analysis.spec_text import key, quoted, table
from translator.analysis.values import LAUNCHED, LOADED
from translator.diag.diagnostic import Sink
from translator.model import expr as x
from translator.model.kernel import HostExpr, KernelModel, Launch
from translator.model.walk import walk_exprs

_DEFAULT_BLOCK = 256


def draft_spec(model: KernelModel, port: Port, sink: Sink) -> str:
    """The text of `spec.toml` for a lifted (not lowered) model and its port."""
    draft = Draft(model, sink, _best(model.launches))
    everywhere = accesses(model, _unknown_grid(model, draft.launch))
    shape = _shape(draft, everywhere)
    found = accesses(model, shape)
    found.complete = found.complete and not model.partial
    _shared(draft, found)
    allocated = by_sizes(draft, rooms(draft.model, draft.launch))
    blocks = {s for p in shape.grid for s in p.symbols}
    described = extents(model, found, allocated, blocks, given(draft.model, draft.launch))
    use = roles_of(draft, tuple(described.buffers))
    args = arguments(draft, described, use, found)
    args += globals_(draft, described, use)
    _tell_assumed(draft)
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


def _tell_assumed(draft: Draft) -> None:
    """Say which scalars nobody gave a value; ask about those of which one value may mean another way."""
    for drawn in (True, False):
        some = [(n, v) for n, v in draft.assumed if (n in draft.drawn) == drawn]
        names, values = ", ".join(n for n, _ in some), ", ".join(str(v) for _, v in some)
        if some and drawn:
            draft.sink.report("CP3106", draft.model.kernel.span, scalars=names, values=values)
        elif some:
            draft.ask("CP3106", scalars=names, values=values)


def _settled(draft: Draft, args: list[dict[str, object]], found: Accesses, described: Extents) -> list[Case]:
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
        _no_less(draft),
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


def _no_less(draft: Draft) -> dict[str, str]:
    """Sizes that each launch gives what it gives for an earlier one, and that one."""
    names = [p.name for p in draft.model.kernel.params]
    given = {launch.arg_same[: len(names)] for launch in draft.model.launches}
    same = next(iter(given)) if len(given) == 1 else ()
    pairs = {names[k]: names[first] for k, first in enumerate(same) if first != k}
    return {size: base for size, base in pairs.items() if size in draft.sizes and base in draft.sizes}


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


def _shape(draft: Draft, free: Accesses) -> Shape:
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
        fixed = given == "1" or cover is not None or (launch is not None and launch.cooperative)
        if given and (not given.isdigit() or fixed):
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


def _invented(draft: Draft, launch: Launch | None, k: int, axis: str) -> str:
    """A size of its own for a grid axis that follows from nothing; 1 where the kernel doesn't use it."""
    used = any(
        isinstance(e, x.Special) and e.base in ("blockIdx", "gridDim") and e.axis == axis
        for f in (draft.model.kernel, *draft.model.functions)
        for e in walk_exprs(f.body)
    )
    if not used and (launch is None or (k and not draft.model.partial)):
        return "1"
    text = "" if launch is None else launch.grid[k].text
    size = text if text.isidentifier() and text not in _taken(draft.model) else f"grid_{axis}"
    draft.sizes.setdefault(size, None)
    return size


def _shared(draft: Draft, found: Accesses) -> None:
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


# ---- text


def _head(draft: Draft, port: Port) -> list[str]:
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
        *(["cooperative = true"] if draft.launch is not None and draft.launch.cooperative else []),
    ]
