"""Puts a port together: header, imports, helpers, device functions, kernel, host side."""

from __future__ import annotations

from dataclasses import dataclass

from translator.diag.diagnostic import Sink, Span
from translator.emit.expr import SPECIAL_CALLS, Expressions, Needs
from translator.emit.host import Constant, HostParam, defaults_of, renamed, write_host
from translator.emit.module_names import module_names
from translator.emit.names import Names, symbol_name
from translator.emit.stmt import Statements
from translator.emit.traced import Traced
from translator.emit.writer import MAX_DEPTH, Writer, one_line
from translator.mapping import resolve as rows
from translator.mapping.resolve import DSL_TYPES
from translator.model import expr as x
from translator.model.kernel import Function, Global, KernelModel
from translator.model.stmt import Decl, ExprStmt
from translator.model.types import Array, Pointer, Scalar, Type
from translator.model.walk import walk_exprs, walk_stmts
from translator.passes.integers import known_ranges
from translator.passes.pointers import origin

STATIC_SHARED_LIMIT = 48 * 1024


@dataclass(frozen=True, slots=True)
class Draft:
    """A port as text; `params` in order, `line_map` rows are (port line, CUDA file, CUDA line)."""

    source: str
    entry: str
    line_map: tuple[tuple[int, str, int], ...]
    params: tuple[HostParam | Constant, ...]
    renames: tuple[tuple[str, str], ...]  # (author's name, port's name) where they differ
    block: str = ""
    grid: str = ""
    smem: str = ""
    opt_level: int | None = None  # pinned, of the machine code


def build(model: KernelModel, sink: Sink, opt_level: int | None = None) -> Draft:
    """The port of a lowered model. What can't be written is reported to `sink`, and the text is then void."""
    needs = Needs(types={"Int32"}, helpers={"axes": None, "device_pointer": None})
    top, entry, kernel_name = module_names(model.kernel.name)
    functions = {f.symbol: top.fresh(f.name) for f in model.functions}
    body = Writer()
    constants = _constants(model, top, needs)
    module = _Module(body, functions, needs, sink, top, constants, Traced(model))
    for f in model.functions:
        module.function(f, functions[f.symbol], frozenset())
    params = module.function(model.kernel, kernel_name, _read_only(model.kernel))
    renames = [(p.name, h.name) for p, h in zip(model.kernel.params, params, strict=True) if p.name != h.name]
    _check_limits(model, sink, body)
    defaults = renamed(defaults_of(model), dict(renames))
    for p in params:
        scalar = p.type.to if isinstance(p.type, Pointer) else p.type
        assert isinstance(scalar, Scalar)
        needs.types.add(DSL_TYPES[scalar.name])
    about, bound = _about(model), model.kernel.min_blocks
    write_host(body, entry, kernel_name, params, constants, defaults, about, bound, opt_level)
    head = _header(model, needs, constants)
    shift = len(head.lines)
    origins = tuple((line + shift, path, at) for line, path, at in body.origins)
    source = "\n".join([*head.lines, *body.lines]) + "\n"
    return Draft(
        source,
        entry,
        origins,
        (*params, *constants),
        tuple(renames),
        defaults.block,
        defaults.grid,
        defaults.smem,
        opt_level,
    )


@dataclass(frozen=True, slots=True)
class _Module:
    """What the functions of one port share while they are written."""

    out: Writer
    functions: dict[str, str]  # symbol → Python name
    needs: Needs
    sink: Sink
    top: Names
    constants: list[Constant]
    traced: Traced

    def function(self, f: Function, name: str, read_only: frozenset[x.Var]) -> list[HostParam]:
        """Writes `f` as `name`; its parameters."""
        out = self.out
        names = Names(self.top.taken - rows.imported_names())  # a local one may hide what only helpers use
        names.given = {c.var.uid: c.name for c in self.constants}
        known = known_ranges(f)
        ex = Expressions(names, self.needs, self.sink, self.functions, known, read_only, self.traced)
        params = [HostParam(names.of(p.uid, p.name), _param_type(p.type)) for p in f.params]
        self.traced.enter(f)
        out.comment(f.comments)
        out.line("@cute.kernel" if f.is_kernel else "@cute.jit")
        shown = [f"{p.name}: {p.annotation}" if f.is_kernel else p.name for p in params]
        _signature(out, name, shown, f.span)
        with out.indented():
            start = len(out.lines)
            _coordinates(out, f, ex)
            if f.body:
                Statements(out, ex, f, set(f.params)).body(f.body)
            elif len(out.lines) == start:
                out.line("pass")
        out.line()
        out.line()
        return params


def _constants(model: KernelModel, top: Names, needs: Needs) -> list[Constant]:
    """The constant memory the functions read, in the order the source declares it."""
    found: dict[x.Var, None] = {}
    for f in (*model.functions, model.kernel):
        for e in walk_exprs(f.body):
            if isinstance(e, x.Element | x.VarRef) and e.var.storage == "constant":
                found.setdefault(e.var)
    order = {g.var.uid: k for k, g in enumerate(model.globals)}
    ordered = sorted(found, key=lambda v: order.get(v.uid, 0))
    made = [Constant(top.fresh(symbol_name(v.name)), v) for v in ordered]
    if made:
        needs.helpers["set_constant"] = None
    needs.types |= {DSL_TYPES[c.scalar.name] for c in made}
    return made


def _signature(out: Writer, name: str, params: list[str], span: Span) -> None:
    """`def name(params):`, one parameter a line where they don't fit one."""
    if len(name) + sum(len(p) + 2 for p in params) < 90:
        out.line(f"def {name}({', '.join(params)}):", span)
        return
    out.line(f"def {name}(", span)
    with out.indented():
        for p in params:
            out.line(f"{p},")
    out.line("):")


def _param_type(t: Type) -> Scalar | Pointer:
    assert isinstance(t, Scalar | Pointer)
    return t


def _coordinates(out: Writer, f: Function, ex: Expressions) -> None:
    """One line per coordinate family the function uses: `tidx, tidy, _ = cute.arch.thread_idx()`."""
    used: dict[str, set[str]] = {}
    for e in walk_exprs(f.body):
        if isinstance(e, x.Special):
            used.setdefault(e.base, set()).add(e.axis)
    for base, call in SPECIAL_CALLS.items():
        if base in used:
            got = [ex.special(base, axis) if axis in used[base] else "_" for axis in "xyz"]
            out.line(f"{', '.join(got)} = {call}()")
            if call in rows.provided_names():
                ex.needs.helpers[call] = None


def _read_only(kernel: Function) -> frozenset[x.Var]:
    """`const T* __restrict__` parameters, which nothing may write, and pointers that only walk from one."""
    found = {
        p
        for p in kernel.params
        if isinstance(p.type, Pointer) and p.type.const and p.type.restrict and not p.type.volatile
    }
    written = {
        s.expr.target.var
        for s in walk_stmts(kernel.body)
        if isinstance(s, ExprStmt) and isinstance(s.expr, x.Assign) and isinstance(s.expr.target, x.VarRef)
    }
    found -= written
    for s in walk_stmts(kernel.body):
        if isinstance(s, Decl) and isinstance(s.var.type, Pointer) and s.init and s.var not in written:
            root = origin(s.init)
            if isinstance(root, x.VarRef) and root.var in found and not s.var.type.volatile:
                found.add(s.var)
    return frozenset(found)


def _check_limits(model: KernelModel, sink: Sink, body: Writer) -> None:
    shared = sum(
        s.var.type.size
        for s in walk_stmts(model.kernel.body)
        if isinstance(s, Decl) and s.var.storage == "shared" and isinstance(s.var.type, Array)
    )
    if shared > STATIC_SHARED_LIMIT:
        sink.report("CP4005", model.kernel.span, bytes=shared, limit=STATIC_SHARED_LIMIT)
    if body.deepest >= MAX_DEPTH:
        sink.report("CP4006", model.kernel.span, depth=body.deepest)


def _about(model: KernelModel) -> list[str]:
    k = model.kernel
    what = model.instantiation or k.name
    place = f"{model.source.path.rsplit('/', 1)[-1]}:{k.span.line}"
    lines = [f"Port of the CUDA kernel `{what}` ({place})."]
    launch = model.launches[0] if model.launches else None
    if launch is not None:
        grid = ", ".join(e.text for e in launch.grid)
        block = ", ".join(e.text for e in launch.block)
        lines.append(f"The original's launch: grid ({grid}), block ({block}).")
    lines.append(
        "Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream."
    )
    if model.globals:
        told = ", ".join(f"`{g.var.name}` ({_start_of(g)})" for g in model.globals)
        lines.append(f"Variables of the source, to be passed with what they hold there: {told}.")
    return [_in_docstring(text) for text in lines]


def _start_of(g: Global) -> str:
    """What a `__device__` or `__constant__` variable starts with."""
    if g.written_by_host:
        return "set by the host"
    if not g.init or not any(g.init):
        return "zero"
    shown = ", ".join(str(v) for v in g.init[:8])
    return shown if len(g.init) <= 8 else f"{shown}, … {len(g.init)} values"


def _in_docstring(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace('"""', "'''")


def _header(model: KernelModel, needs: Needs, constants: list[Constant]) -> Writer:
    out = Writer()
    k = model.kernel
    path = one_line(model.source.path.rsplit("/", 1)[-1])
    out.line(f'"""CuTe DSL port of `{_in_docstring(model.instantiation or k.name)}`."""')
    out.line()
    out.line(f"# CUDA: {path}:{k.span.line}-{k.span.end_line}")
    out.line()
    helpers = _with_needs(needs.helpers)
    types = set(needs.types)
    others: set[str] = {"from cutlass.cute.runtime import make_fake_stream"}
    for h in helpers:
        for line in h.imports:
            if line.startswith("from cutlass import "):
                types |= {n.strip() for n in line.removeprefix("from cutlass import ").split(",")}
            else:
                others.add(line)
    for rule in needs.libdevice.values():
        types |= {n for n in DSL_TYPES.values() if n in rule.signature}
    types.discard("cute")
    out.line("import functools")
    out.line()
    out.line("import cuda.bindings.driver as cuda")
    out.line("import cutlass")
    out.line("import cutlass.cute as cute")
    out.line("import torch")
    if types:
        out.line(f"from cutlass import {', '.join(sorted(types))}")
    for line in _merged(others):
        out.line(line)
    out.line()
    out.line("gmem = cutlass.AddressSpace.gmem")
    for name, value in needs.constants.items():
        out.line(f"{name} = {value}")
    for c in constants:
        space = "cutlass.AddressSpace.cmem"
        out.line(f'{c.name} = cutlass.Array({c.dtype}, {c.shape}, space={space}, name="{c.name}")')
    for rule in (needs.libdevice[n] for n in sorted(needs.libdevice)):
        out.line(rows.ffi_line(rule))
    out.line()
    out.line()
    for h in helpers:
        for text in h.source.rstrip("\n").split("\n"):
            out.line(text)
        out.line()
        out.line()
    return out


def _with_needs(wanted: dict[str, None]) -> list[rows.Helper]:
    found: dict[str, rows.Helper] = {}

    def add(name: str) -> None:
        if name not in found:
            h = rows.helper(name)
            for other in h.needs:
                add(other)
            found[name] = h

    for name in sorted(wanted):
        add(name)
    return list(found.values())


def _merged(lines: set[str]) -> list[str]:
    """`from m import a` and `from m import b` as one line."""
    modules: dict[str, set[str]] = {}
    plain: list[str] = []
    for line in lines:
        if line.startswith("from "):
            module, _, names = line.removeprefix("from ").partition(" import ")
            modules.setdefault(module, set()).update(n.strip() for n in names.split(","))
        else:
            plain.append(line)
    plain = [
        p for p in plain if p not in ("import cutlass", "import cutlass.cute as cute", "import functools")
    ]
    return sorted(plain) + [f"from {m} import {', '.join(sorted(n))}" for m, n in sorted(modules.items())]
