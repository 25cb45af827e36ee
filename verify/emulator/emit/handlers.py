"""Which function writes the C of an opcode that is more than arithmetic, by the tables' names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from verify.emulator.emit import control, memory, sync
from verify.emulator.ops import Op
from verify.emulator.ptx.module import Instr

if TYPE_CHECKING:
    from verify.emulator.emit.function import Emitting

Handler: TypeAlias = "Callable[[Emitting, Instr, Op, int], str]"

HANDLERS: Mapping[str, Handler] = {
    "ld": memory.load,
    "ldu": memory.load,
    "st": memory.store,
    "cvta": memory.cvta,
    "isspacep": memory.isspacep,
    "mapa": memory.mapa,
    "atom": memory.atom,
    "red": memory.red,
    "hint": memory.nothing,
    "bar": sync.bar,
    "shfl": sync.shfl,
    "vote": sync.vote,
    "match": sync.match,
    "redux": sync.redux,
    "activemask": sync.activemask,
    "elect": sync.elect,
    "fence": sync.fence,
    "nanosleep": sync.nanosleep,
    "bra": control.bra,
    "brx": control.brx,
    "ret": control.ret,
    "exit": control.exit_,
    "trap": control.trap,
    "nothing": control.nothing,
}
