"""What becomes of the values that strong loads (volatile, relaxed) bring.

Strong accesses are no race by themselves. Two uses of them are wrong all the same: a value that is changed
and stored again at the same place is an update in which another thread's store gets lost, and lanes of a warp
that hand data to each other without bar.warp.sync rely on running in step. A load whose value is tested waits
for news, which is what strong loads are for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from verify.emulator.emit.opcode import parts
from verify.emulator.ptx.module import Addr, Function, Instr, Operand, Pair, Reg, Vec

_PLAIN = ("ORD_VOLATILE", "ORD_RELAXED")
_TESTS = ("setp", "set", "vote", "match")


def _registers(o: Operand | None) -> Iterator[str]:
    match o:
        case Reg(name):
            yield name
        case Vec(items):
            for item in items:
                yield from _registers(item)
        case Pair(first, second):
            yield from _registers(first)
            yield from _registers(second)
        case Addr(base, _, coords):
            for item in (base, *coords):
                yield from _registers(item)


def _family(i: Instr) -> str:
    return i.op.split(".")[0]


def strengths(f: Function) -> Mapping[Instr, str]:
    """A strong load or store → what its order in the C text gets besides. Empty for most functions."""
    instructions = [i for i in f.body if isinstance(i, Instr)]
    loads = [i for i in instructions if _family(i) == "ld" and parts(i.op).order in _PLAIN]
    if not loads:
        return {}
    readers: dict[str, list[Instr]] = {}
    for i in instructions:
        sources = i.operands if _family(i) in ("st", "red") else i.operands[1:]
        for name in {n for o in sources for n in _registers(o)}:
            readers.setdefault(name, []).append(i)
    found: dict[Instr, str] = {}
    for load in loads:
        tested, stores = _fate(load, readers)
        where = parts(load.op).space
        extra = " | IN_UPDATE" if stores else ""
        if not tested and where in ("shared", "generic"):
            extra += " | AS_DATA"
        if extra:
            found[load] = extra
        for store in stores:
            found[store] = " | IN_UPDATE"
    return found


def _fate(load: Instr, readers: Mapping[str, list[Instr]]) -> tuple[bool, list[Instr]]:
    """(whether the value is tested, the strong stores that it goes into)."""
    waiting = list(_registers(load.operands[0]))
    seen = set(waiting)
    tested, stores = False, []
    while waiting:
        for i in readers.get(waiting.pop(), ()):
            family = _family(i)
            if family in _TESTS:
                tested = True
            elif family in ("st", "red"):
                into = {n for o in i.operands[1:] for n in _registers(o)}
                if family == "st" and parts(i.op).order in _PLAIN and into & seen:
                    stores.append(i)
            elif family not in ("ld", "atom", "ldu"):
                for name in _registers(i.operands[0] if i.operands else None):
                    if name not in seen:
                        seen.add(name)
                        waiting.append(name)
    return tested, stores
