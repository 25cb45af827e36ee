"""Which bytes of each pointer a kernel touches, found by running it on memory that grows as needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from verify.emulator.classes import access_bytes
from verify.emulator.launch import LaunchShape, Program, Ran, RunOptions
from verify.emulator.memory import READ, WRITTEN, Allocation, Memory

_FIRST = 1 << 20
_GROWTH = 16
LIMIT = 1 << 28
"""Bytes beyond which a pointer is not followed."""

Role = Literal["in", "out", "inout", "unused"]


def _zeros(size: int) -> npt.NDArray[np.uint8]:
    return np.zeros(size, np.uint8)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Memory that the kernel is given an address of: it grows as needed, or is `fixed` bytes. `contents`
    makes what lies there, from the number of bytes."""

    name: str
    contents: Callable[[int], npt.NDArray[np.uint8]] = _zeros
    fixed: int | None = None


@dataclass(frozen=True, slots=True)
class Touched:
    """What happened to the memory behind one pointer, in bytes. `extent` ends after the last byte touched,
    `below` counts accesses before the first. `complete` is False where the kernel went beyond LIMIT, or
    beyond memory of a fixed size."""

    name: str
    role: Role
    extent: int
    read: int
    written: int
    below: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Footprint:
    """One launch. `compulsory` bytes must move between memory and chip: each distinct byte read once and
    written once. `opcodes` are dynamic counts per full opcode over all threads."""

    pointers: tuple[Touched, ...]
    opcodes: Mapping[str, int]
    ran: Ran

    @property
    def compulsory(self) -> int:
        return sum(t.read + t.written for t in self.pointers)

    def access_bytes(self, family: str, space: str = "global") -> Mapping[int, int]:
        """Accesses by their width in bytes, of `ld` or `st` to a space."""
        return access_bytes(self.opcodes, family, space)


def footprint(
    program: Program,
    kernel: str,
    shape: LaunchShape,
    params: Sequence[bytes | Pointer],
    budget: int = 200_000_000,
) -> Footprint:
    """`follow` for a kernel whose pointers are parameters of their own."""
    pointers = [p for p in params if isinstance(p, Pointer)]

    def values(at: Mapping[str, int]) -> list[bytes]:
        return [at[p.name].to_bytes(8, "little") if isinstance(p, Pointer) else p for p in params]

    return follow(program, kernel, shape, pointers, values, RunOptions(count=True, budget=budget))


def follow(
    program: Program,
    kernel: str,
    shape: LaunchShape,
    pointers: Sequence[Pointer],
    values: Callable[[Mapping[str, int]], Sequence[bytes]],
    options: RunOptions,
) -> Footprint:
    """Runs the kernel, again with sixteen times the memory for a pointer that it left, until it stays inside.

    `values` makes the parameters from the pointers' addresses, before each run. PtxError as for Program.run.
    A kernel that follows addresses it loads, or whose sizes lie in its data, shows what it does with these.
    """
    sizes = {p.name: _FIRST if p.fixed is None else p.fixed for p in pointers}
    growing = {p.name for p in pointers if p.fixed is None}
    while True:
        memory = Memory()
        at = {p.name: _place(memory, p, sizes[p.name]) for p in pointers}
        ran = program.run(kernel, shape, values({n: a.base for n, a in at.items()}), memory, options)
        left = _left(ran, at)
        grow = {n for n, high in left.items() if high and n in growing and sizes[n] < LIMIT}
        if not grow:
            break
        sizes.update({n: min(LIMIT, sizes[n] * _GROWTH) for n in grow})
    unwritten = [f.address for f in ran.findings if f.code == "CP8006"]
    early = {n for n, a in at.items() if any(_holds(a, u) for u in unwritten)}
    touched = tuple(_touched(n, a, n in early, left.get(n)) for n, a in at.items())
    return Footprint(touched, ran.opcodes, ran)


def _place(memory: Memory, p: Pointer, size: int) -> Allocation:
    """Memory with its contents, for which nobody vouches: a read before a write is then a finding."""
    address = memory.alloc(size, p.name, initialised=False)
    data = np.ascontiguousarray(p.contents(size))
    ctypes.memmove(address, data.ctypes.data, data.nbytes)
    return memory.at(address)


def _holds(a: Allocation, address: int) -> bool:
    return a.base <= address < a.end


def _left(ran: Ran, at: Mapping[str, Allocation]) -> dict[str, bool]:
    """Pointers that accesses went beyond: True above the end, False below the start."""
    found: dict[str, bool] = {}
    for f in ran.findings:
        if f.code == "CP8001" and at:
            near = min(at, key=lambda n: min(abs(f.address - at[n].base), abs(f.address - at[n].end)))
            found[near] = found.get(near, False) or f.address >= at[near].base
    return found


def _touched(name: str, a: Allocation, early: bool, left: bool | None) -> Touched:
    read, written = (a.state & READ) != 0, (a.state & WRITTEN) != 0
    any_byte = np.flatnonzero(read | written)
    reads = early or bool(read.any())
    role: Role = (
        "inout" if reads and written.any() else "in" if reads else "out" if written.any() else "unused"
    )
    return Touched(
        name,
        role,
        int(any_byte[-1]) + 1 if len(any_byte) else 0,
        int(read.sum()) if reads else 0,
        int(written.sum()),
        below=int(left is False),
        complete=left is None,
    )
