"""PTX texts as programs for a verdict: places told by short names, parameters by their sizes."""

from __future__ import annotations

from pathlib import PurePath

from verify.emulator.launch import Program
from verify.emulator.ptx.module import PtxError


def open_program(ptx: str) -> Program:
    """The program of a PTX text. What it tells names files without their folders: the same on every machine.
    PtxError where the text can't be used."""
    program = Program(ptx)
    program.files = {k: PurePath(name).name for k, name in program.files.items()}
    return program


def parameter_sizes(program: Program, kernel: str) -> tuple[int, ...]:
    """Bytes of each parameter of a kernel. PtxError CP7104 where the program has no such kernel."""
    found = program.module.functions.get(kernel)
    if found is None or not found.entry:
        raise PtxError("CP7104", f"no kernel {kernel} in the PTX")
    return tuple(p.size for p in found.params)


def variable(program: Program, name: str) -> tuple[int, int]:
    """Host address and bytes of a variable. PtxError CP7104 where the program has none of that name."""
    try:
        return program.symbol(name)
    except KeyError:
        raise PtxError("CP7104", f"no variable {name} in the PTX") from None
