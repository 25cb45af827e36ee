"""What calls need: signatures that can be compared, and room for the functions under way."""

from __future__ import annotations

from collections.abc import Iterable

from verify.emulator.emit.layout import Layout, offsets, round_up
from verify.emulator.ptx.module import SIZES, Function, Var

# C stack of a thread, its spare part, and what a kernel that may call in circles gets instead.
_STACK, _SPARE, _DEEP_STACK = 64 * 1024, 16 * 1024, 256 * 1024
# How often a function's local memory is there where functions may call in circles.
_DEPTH, _MOST_LOCAL = 64, 512 * 1024


def sizes_text(returns: Iterable[int | None], params: Iterable[int | None]) -> str:
    """Bytes of returns and parameters as a text; None is no variable."""
    return ">".join(",".join(str(size or 0) for size in sizes) for sizes in (params, returns))


def takes(f: Function) -> str:
    """The sizes_text of a function."""
    return sizes_text((v.size for v in f.returns), (v.size for v in f.params))


def frame_bytes(layout: Layout) -> int:
    """Local memory of one thread that calls every function once."""
    total = 0
    for f in layout.functions:
        local: list[Var] = [v for v in f.variables if v.space == "local"]
        total += round_up(offsets(local)[1], 16) + max([16, *(v.align for v in local)])
    return total


def local_bytes(layout: Layout) -> int:
    """Local memory of one thread. Beyond it a launch is stopped (CP8003)."""
    once = frame_bytes(layout)
    return max(once, min(_DEPTH * once, _MOST_LOCAL)) if layout.recursive else once


def stack_bytes(layout: Layout) -> tuple[int, int]:
    """(C stack of one thread, what of it the last function called and the runtime may use): registers may
    all lie there."""
    registers = [sum(SIZES[t] for t in f.regs.values()) for f in layout.functions]
    stack = (_DEEP_STACK if layout.recursive else _STACK) + 2 * sum(registers)
    return round_up(stack, 4096), round_up(_SPARE + 2 * max(registers), 4096)
