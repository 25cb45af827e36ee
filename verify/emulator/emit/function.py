"""One PTX function as a C function of one GPU thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from verify.emulator.emit.calls import sizes_text
from verify.emulator.emit.handlers import HANDLERS
from verify.emulator.emit.hopper import wgmma_registers, wgmma_touched
from verify.emulator.emit.layout import BUILTINS, Layout, offsets, round_up
from verify.emulator.emit.memory import through_register
from verify.emulator.emit.operands import C_TYPES, Names, identifier
from verify.emulator.emit.provenance import Range, origins
from verify.emulator.emit.pure import pure, shape_of
from verify.emulator.emit.sites import Sites
from verify.emulator.emit.strong import strengths
from verify.emulator.ops import find
from verify.emulator.ptx.module import SIZES, Call, Function, Instr, Label, PtxError, Reg, Sym


@dataclass(slots=True)
class Emitting:
    """What the handlers see of the function under way."""

    function: Function
    layout: Layout
    names: Names
    sites: Sites
    leave: str  # the C label that ends the function
    frame_bytes: int = 0
    seen: set[str] = field(default_factory=set)  # labels already passed: a branch to one goes back
    wgmma: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # registers: emit.hopper
    origins: Mapping[str, Range] = field(default_factory=dict)
    strengths: Mapping[Instr, str] = field(default_factory=dict)

    def param_bytes(self, name: str) -> int | None:
        """Bytes of a parameter or a `.param` variable of this function; None where there is none."""
        f = self.function
        own = (*f.params, *f.returns, *(v for v in f.variables if v.space == "param"))
        return next((v.size for v in own if v.name == name), None)

    def strong(self, i: Instr) -> str:
        """What a strong load or store adds to its order: see emit.strong."""
        return self.strengths.get(i, "")

    def label(self, name: str) -> str:
        """The C label of a PTX label."""
        return identifier(name, f"{self.leave}_")


def signature(f: Function) -> str:
    """The C head of a function. Entries get their parameter block, others pointers to each `.param`."""
    if f.entry:
        return f"void {identifier(f.name, 'K_')}(Thread *t, u8 *P)"
    return f"static void {identifier(f.name, 'F_')}(Thread *t, u8 **io)"


def emit_function(f: Function, layout: Layout, sites: Sites) -> str:
    """C text of `f`. PtxError where something in it is not supported."""
    places, head, frame = _places(f, layout)
    names = Names(f.regs, places)
    e = Emitting(f, layout, names, sites, f"end_{len(sites.functions)}", frame)
    e.origins = origins(f, layout)
    e.strengths = strengths(f)
    e.wgmma = wgmma_registers(f, len(sites.instructions))
    sites.functions.append(f.name)
    lines = [signature(f) + " {"]
    lines += [f"  {C_TYPES[SIZES[t]]} {names.register(Reg(r))} = {_unwritten(t)};" for r, t in f.regs.items()]
    lines += ["  u32 cc_ = 0; (void)cc_;", *head, *_parameters(f, places)]
    if not f.entry and layout.recursive:
        lines.append("  call_depth(t);")
    lines.append(f"  COUNT_BLOCK({sites.block()});")
    after_branch = False
    for line in f.body:
        if isinstance(line, Label):
            lines.append(f" {e.label(line.name)}:;")
            e.seen.add(line.name)
            lines.append(f"  COUNT_BLOCK({sites.block()});")
            after_branch = False
            continue
        if after_branch:
            lines.append(f"  COUNT_BLOCK({sites.block()});")
        site = sites.add(line)
        lines.append("  " + _statement(e, line, site))
        after_branch = isinstance(line, Call) or line.op.split(".")[0] in ("bra", "brx", "ret", "exit")
    lines.append(f" {e.leave}:;")
    if frame:
        lines.append("  local_pop(t, L_);")
    lines.append("}")
    return "\n".join(lines)


def _unwritten(type_: str) -> str:
    """What a register holds before it is written: a GPU leaves anything there, here it is no number as a
    float and no place in memory as an address or index."""
    if type_ == "pred":
        return "1"
    whole = "FFF8DEADFFC0DEAD"
    if SIZES[type_] == 16:
        return f"(u128)0x{whole}ull << 64 | 0x{whole}ull"
    return {1: "0xAD", 2: "0xFEAD", 4: "0xFFC0DEADu", 8: f"0x{whole}ull"}[SIZES[type_]]


def _places(f: Function, layout: Layout) -> tuple[dict[str, str], list[str], int]:
    """(C address of each variable, the statements that make them, bytes of the local frame)."""
    places: dict[str, str] = {n: f"{o}u" for n, o in layout.shared.offsets.items()}
    head: list[str] = []
    mine = set(places)
    if f.entry:
        at, _ = offsets(f.params)
        places.update({n: f"((u64)P + {o})" for n, o in at.items()})
    else:
        for i, p in enumerate((*f.returns, *f.params)):
            places[p.name] = f"((u64)io[{i}])"
    local = [v for v in f.variables if v.space == "local"]
    at, frame = offsets(local)
    frame = round_up(frame, 16)
    if frame:
        alignment = max(16, *(v.align for v in local)) if len(local) > 1 else max(16, local[0].align)
        head.append(f"  u8 *L_ = local_push(t, {frame}, {alignment});")
        places.update({n: f"((u64)L_ + {o})" for n, o in at.items()})
    for v in f.variables:
        if v.space == "param":
            name = identifier(v.name, "p_")
            head.append(f"  u8 {name}[{max(v.size, 8)}] __attribute__((aligned(16))) = {{0}};")
            places[v.name] = f"((u64){name})"
    for i, s in enumerate(layout.symbols):
        if s.name not in mine:
            places[s.name] = f"t->launch->symbols[{i}]"
    for g in layout.functions[1:]:
        places[g.name] = f"((u64)&{identifier(g.name, 'F_')})"
    return places, head, frame


def _parameters(f: Function, places: Mapping[str, str]) -> list[str]:
    """The table of the places that a register may address in the space of parameters, where one does."""
    if not any(isinstance(i, Instr) and through_register(i) for i in f.body):
        return []
    own = (*f.params, *f.returns, *(v for v in f.variables if v.space == "param"))
    known = ", ".join(f"{{{places[v.name]}, {v.size}}}" for v in own)
    return [f"  const u64 params_[][2] = {{ {known or '{0, 0}'} }};"]


def _statement(e: Emitting, line: Instr | Call, site: int) -> str:
    try:
        text = _call(e, line, site) if isinstance(line, Call) else _instruction(e, line, site)
    except PtxError as error:
        if error.line:
            raise
        where = f"{e.function.name}: {line.text or getattr(line, 'op', 'call')}"
        raise PtxError(error.code, f"{error.message} ({where})", line.ptx_line) from None
    if e.wgmma and isinstance(line, Instr):
        text = wgmma_touched(e, line, site) + text
    if line.guard is None:
        return text
    return f"if ({e.names.predicate(line.guard)}) {{ {text} }}"


def _instruction(e: Emitting, i: Instr, site: int) -> str:
    op = find(i.op, shape_of(i))
    if op.c is not None:
        return pure(e.names, i, op)
    handler = HANDLERS.get(op.by or "")
    if handler is None:
        raise PtxError("CP7103", f"{i.op} is not emulated yet")
    return handler(e, i, op, site)


def _call(e: Emitting, c: Call, site: int) -> str:
    """A call: pointers to returns and arguments in one array."""
    arguments: list[str] = []
    for a in (*(Sym(r) for r in c.returns), *c.arguments):
        if not isinstance(a, Sym):
            raise PtxError("CP7110", "a call with arguments in registers is not supported")
        arguments.append(f"(u8*){e.names.place(a.name)}")
    if isinstance(c.target, Sym) and c.target.name in BUILTINS:
        return _builtin(c.target.name, arguments, len(c.returns), site)
    passed = [a.name for a in c.arguments if isinstance(a, Sym)]
    given = [e.param_bytes(r) for r in c.returns], [e.param_bytes(a) for a in passed]
    io = f"u8 *io_[] = {{ {', '.join([*arguments, '0'])} }};"
    if isinstance(c.target, Sym):
        known: Mapping[str, Function] = {g.name: g for g in e.layout.functions}
        if c.target.name not in known:
            raise PtxError("CP7110", f"{c.target.name} is not in the PTX")
        callee = known[c.target.name]
        if given != ([v.size for v in callee.returns], [v.size for v in callee.params]):
            raise PtxError("CP7101", f"{callee.name} is called with other parameters than it has")
        return f"{{ {io} {identifier(callee.name, 'F_')}(t, io_); }}"
    functions = f"emu_functions, {len(e.layout.functions) - 1}"
    target = f'callee(t, {e.names.bits(c.target, "b64")}, "{sizes_text(*given)}", {functions}, {site})'
    return f"{{ {io} ((void(*)(Thread*, u8**)){target})(t, io_); }}"


def _builtin(name: str, arguments: list[str], returns: int, site: int) -> str:
    args = arguments[returns:]
    if name == "vprintf":
        answer = f"*(u32*)({arguments[0]}) = " if returns else ""
        return f"{answer}emu_printf(t, *(u64*)({args[0]}), *(u64*)({args[1]}), {site});"
    message, file, line, function = args[:4]
    return (
        f"assert_fail(t, *(u64*)({message}), *(u64*)({file}), *(u32*)({line}), *(u64*)({function}), {site});"
    )
