"""The worker's job about PTX: what in it leaves the bits of a result open. Child side only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from verify.emulated_jobs import HELD
from verify.emulator.ops import find
from verify.emulator.ptx.module import Instr, Module, PtxError
from verify.jobs import Emit

_ATOMIC = re.compile(r"(atom|red)\.")
# A multiplication or addition without a rounding may be fused with its neighbour, as the assembler likes; the
# order of a matrix product's additions is not told.
_FREE = re.compile(r"(add|sub|mul)(\.sat|\.ftz)*\.(f|bf)(16|32|64)(x2)?|w?g?mma\.")
_PLACE = re.compile(r"%(clock|globaltimer|smid|nsmid|warpid|nwarpid|gridid)\b|%clock_hi|%clock64")


def nature(_job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """What the last run's PTX leaves open: see `open_in`."""
    return open_in(p.module for p in HELD.programs)


def open_in(modules: Iterable[Module]) -> dict[str, Any]:
    """`free`: opcodes whose results PTX gives only within an error; `atomics`: whether an order of atomics
    can show; `place`: the special registers read that say where and when a thread runs."""
    free: set[str] = set()
    place: set[str] = set()
    atomics = False
    for module in modules:
        for function in module.functions.values():
            for line in function.body:
                if isinstance(line, Instr):
                    atomics |= bool(_ATOMIC.match(line.op))
                    place |= {m.group() for m in _PLACE.finditer(line.text)}
                    if _FREE.match(line.op) or _approximate(line.op):
                        free.add(line.op)
    return {"free": sorted(free), "atomics": atomics, "place": sorted(place)}


def _approximate(op: str) -> bool:
    try:
        return bool(find(op).approximate)
    except PtxError:
        return True  # unknown here, so nothing is promised; the emulator refuses the kernel if it gets there


HANDLERS = {"nature": nature}
