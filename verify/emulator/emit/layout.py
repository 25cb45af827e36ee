"""Where a kernel's parameters, shared, local, global and constant variables lie, and what it can reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from verify.emulator.ptx.module import (
    Addr,
    Call,
    Function,
    Instr,
    Label,
    Module,
    Operand,
    Pair,
    PtxError,
    Sym,
    Var,
    Vec,
)

# Functions that the CUDA runtime gives; the emitter knows them by name.
BUILTINS = frozenset({"vprintf", "__assertfail"})


@dataclass(frozen=True, slots=True)
class Shared:
    """Byte offsets in the shared window: static variables first, then the dynamic array at `dynamic_at`.

    `ranges` are the bytes [from, to) of the static ones, `zones` those between variables, so many that an
    access beyond the end of one does not land in the next. `set_aside` is where the dynamic array would lie
    without them, as on a GPU.
    """

    offsets: Mapping[str, int]
    static_bytes: int
    dynamic_at: int
    alignment: int
    ranges: Mapping[str, tuple[int, int]]
    zones: tuple[tuple[int, int], ...]
    set_aside: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What one kernel needs: functions in the order of discovery (the kernel first), shared memory, symbols.

    `symbols` are the global and constant variables it mentions, numbered in that order. `recursive` says
    whether a function may be under way more than once in a thread.
    """

    kernel: Function
    functions: tuple[Function, ...]
    shared: Shared
    symbols: tuple[Var, ...]
    recursive: bool


def round_up(value: int, alignment: int) -> int:
    """The least multiple of `alignment` that is not below `value`."""
    return -(-value // alignment) * alignment


# Bytes left free behind a variable of shared memory: as many as it has, within these bounds.
_LEAST_ZONE, _MOST_ZONE = 32, 256


def offsets(variables: Iterable[Var], at: int = 0) -> tuple[dict[str, int], int]:
    """(byte offset of each variable, each at its alignment; the end)."""
    found: dict[str, int] = {}
    for v in variables:
        at = round_up(at, max(1, v.align))
        found[v.name] = at
        at += v.size
    return found, at


def symbols_of(operands: Iterable[Operand | None]) -> Iterator[str]:
    """Names of the variables, functions and labels that operands mention."""
    for o in operands:
        match o:
            case Sym(name):
                yield name
            case Addr(base, _, coords):
                yield from symbols_of((base, *coords))
            case Vec(items):
                yield from symbols_of(items)
            case Pair(first, second):
                yield from symbols_of((first, second))


def mentioned(f: Function) -> Iterator[str]:
    """Names that the function's body mentions, with repeats."""
    for line in f.body:
        match line:
            case Instr(operands=operands):
                yield from symbols_of(operands)
            case Call(target=target, arguments=arguments):
                yield from symbols_of((target, *arguments))
            case Label():
                pass


def lay_out(module: Module, kernel: str) -> Layout:
    """The layout of one kernel. PtxError CP7104 where the module has no such kernel."""
    entry = module.functions.get(kernel)
    if entry is None or not entry.entry:
        have = ", ".join(module.entries[:8]) or "none"
        raise PtxError("CP7104", f"no kernel {kernel} in the PTX; it has: {have}")
    outside = {v.name: v for v in module.variables}
    functions: dict[str, Function] = {kernel: entry}
    used: dict[str, Var] = {}
    waiting = [entry]
    names: list[str] = []
    while waiting:
        f = waiting.pop(0)
        names = list(mentioned(f))
        while names:
            name = names.pop(0)
            if name in outside and name not in used:
                used[name] = outside[name]
                names += [r.symbol for r in outside[name].relocs]
            elif name in module.functions and name not in functions and name not in BUILTINS:
                called = module.functions[name]
                if not called.defined:
                    raise PtxError("CP7110", f"{kernel} calls {name}, which is not in the PTX", f.ptx_line)
                functions[name] = called
                waiting.append(called)
    return Layout(
        entry,
        tuple(functions.values()),
        _shared(functions.values(), used.values()),
        tuple(v for v in used.values() if v.space in ("global", "const")),
        _recursive(functions),
    )


def _recursive(functions: Mapping[str, Function]) -> bool:
    """Whether calls may go in circles; one through a register may go anywhere."""
    calls = {
        name: [line.target for line in f.body if isinstance(line, Call)] for name, f in functions.items()
    }
    if any(not isinstance(t, Sym) for targets in calls.values() for t in targets):
        return True
    left = {name: {t.name for t in targets if isinstance(t, Sym)} for name, targets in calls.items()}
    while leaves := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in leaves:
            del left[name]
    return bool(left)


def _shared(functions: Iterable[Function], used: Iterable[Var]) -> Shared:
    own = [v for f in functions for v in f.variables if v.space == "shared"]
    everything = [v for v in [*used, *own] if v.space == "shared"]
    static = [v for v in everything if not v.dynamic]
    dynamic = [v for v in everything if v.dynamic]
    alignment = max([16, *(v.align for v in everything)])
    dynamic_alignment = max([16, *(v.align for v in dynamic)])
    found: dict[str, int] = {}
    zones: list[tuple[int, int]] = []
    at = end = 0  # of the next variable at the earliest; of the last one
    for v in static:
        at = round_up(at, max(1, v.align))
        if zones:
            zones[-1] = (end, at)
        found[v.name] = at
        end = at + v.size
        at = end + min(max(v.size, _LEAST_ZONE), _MOST_ZONE)
        zones.append((end, at))
    ranges = {v.name: (found[v.name], found[v.name] + v.size) for v in static}
    _, packed = offsets(static)
    if not dynamic:
        return Shared(found, end, end, alignment, ranges, tuple(zones[:-1]), packed)
    at = round_up(at, dynamic_alignment)
    if zones:
        zones[-1] = (end, at)
    found.update({v.name: at for v in dynamic})
    return Shared(found, end, at, alignment, ranges, tuple(zones), round_up(packed, dynamic_alignment))
