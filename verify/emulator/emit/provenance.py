"""Which variable of shared memory an address comes from, where the text of a function tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from verify.emulator.emit.layout import Layout
from verify.emulator.ptx.module import Addr, Function, Instr, Operand, Pair, Reg, Sym, Vec

# Instructions whose result is an address where an operand is one.
_CARRIES = frozenset({"mov", "add", "sub", "mad", "or", "xor", "and", "selp", "cvt", "lop3", "min", "max"})
_UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes [start, stop) of the shared window: those of one variable."""

    start: int
    stop: int


def _written(o: Operand | None) -> Iterator[str]:
    match o:
        case Reg(name):
            yield name
        case Vec(items):
            for item in items:
                yield from _written(item)
        case Pair(first, second):
            yield from _written(first)
            yield from _written(second)


def origins(f: Function, layout: Layout) -> Mapping[str, Range]:
    """Register → the variable that every address in it comes from. A register that other instructions write,
    or that may hold addresses of two variables, is not there; nor are addresses in the dynamic array, whose
    names all mean the same memory."""
    ranges = {n: Range(*at) for n, at in layout.shared.ranges.items()}
    if not layout.shared.zones:
        return {}
    flows: dict[str, set[str]] = {}  # register → registers that it gets its value from
    found: dict[str, set[str]] = {}
    other: set[str] = set()  # registers that something writes which brings no address that is known here
    for i in f.body:
        if not isinstance(i, Instr) or not i.operands:
            continue
        carries = i.op.split(".")[0] in _CARRIES
        for to in _written(i.operands[0]):
            mine = {o.name if o.name in ranges else _UNKNOWN for o in i.operands[1:] if isinstance(o, Sym)}
            come = {name for o in i.operands[1:] for name in _written(o)}
            if carries and mine | come:
                found.setdefault(to, set()).update(mine)
                flows.setdefault(to, set()).update(come)
            else:
                other.add(to)
    changed = True
    while changed:
        changed = False
        for to, come in flows.items():
            before = len(found[to])
            for source in come:
                found[to] |= found.get(source, set())
            if to in other and found[to]:
                found[to].add(_UNKNOWN)
            changed |= len(found[to]) > before
    return {r: ranges[min(s)] for r, s in found.items() if len(s) == 1 and _UNKNOWN not in s}


def origin(o: Operand | None, known: Mapping[str, Range], layout: Layout) -> Range | None:
    """The variable of an address operand."""
    match o:
        case Addr(Reg(name)):
            return known.get(name)
        case Addr(Sym(name)) if name in layout.shared.ranges:
            return Range(*layout.shared.ranges[name])
    return None
