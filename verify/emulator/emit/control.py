"""Branches and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.emulator.ops import Op
from verify.emulator.ptx.module import Instr, Operand, PtxError, Sym

if TYPE_CHECKING:
    from verify.emulator.emit.function import Emitting


def _target(o: Operand | None) -> str:
    if not isinstance(o, Sym):
        raise PtxError("CP7101", f"a branch to {o}")
    return o.name


def _jump(e: Emitting, name: str, site: int) -> str:
    back = f"back_edge(t, {site}); " if name in e.seen else ""
    return f"{back}goto {e.label(name)};"


def bra(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return f"{{ {_jump(e, _target(i.operands[0]), site)} }}"


def brx(e: Emitting, i: Instr, op: Op, site: int) -> str:
    """A branch by index into a list of labels; beyond its end the behaviour is undefined: a trap."""
    table = e.function.tables.get(_target(i.operands[1]))
    if table is None:
        raise PtxError("CP7101", f"no branch targets {i.operands[1]}")
    cases = " ".join(f"case {k}: {_jump(e, name, site)}" for k, name in enumerate(table))
    return f"switch ({e.names.bits(i.operands[0], 'b32')}) {{ {cases} default: trap_now(t, {site}); }}"


def ret(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return f"goto {e.leave};"


def exit_(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return f"goto {e.leave};" if e.function.entry else "thread_exit(t);"


def trap(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return f"trap_now(t, {site});"


def nothing(e: Emitting, i: Instr, op: Op, site: int) -> str:
    """griddepcontrol (launches never overlap here), setmaxnreg, brkpt."""
    return ";"
