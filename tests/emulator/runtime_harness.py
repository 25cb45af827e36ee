"""Compiles hand-written kernels against the emulator's runtime, and runs them."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from verify.emulator import abi
from verify.emulator.build import Mode, shared_object

FOLDER = Path(__file__).parent / "runtime"
_GAP = 4096  # bytes between buffers, so that what is near one is not in another
Buffer = npt.NDArray[np.generic]
U32 = npt.NDArray[np.uint32]
SCHEDULES = ("forward", "reverse", "random:1", "random:2")
each_schedule = pytest.mark.parametrize("schedule", SCHEDULES)
checked_or_not = pytest.mark.parametrize("checks", [True, False], ids=["checked", "raw"])


def words(n: int) -> U32:
    """A buffer of `n` zeros."""
    return np.zeros(n, np.uint32)


def count(n: int) -> U32:
    """0 to `n` - 1."""
    return np.arange(n, dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`findings` are (code, text of the line, text of the other line or "")."""

    end: int
    stopped_by: int
    findings: tuple[tuple[int, str, str], ...]
    raw: tuple[abi.Finding, ...]
    output: str
    seconds: float
    budget: int
    counts: tuple[int, ...]

    @property
    def codes(self) -> list[int]:
        return sorted({code for code, _, _ in self.findings})


@functools.cache
def _library(file: str, checks: bool) -> tuple[ctypes.CDLL, tuple[str, ...]]:
    text = (FOLDER / file).read_text()
    header = (FOLDER / "kernels.h").read_text()
    made = shared_object(f"{header}\n#line 1\n{text}", Mode(checks=checks, count=True))
    return ctypes.CDLL(str(made)), ("", *text.splitlines())


def library(file: str) -> ctypes.CDLL:
    """The checked build of a file of kernels."""
    return _library(file, True)[0]


def _label(lines: Sequence[str], site: int) -> str:
    """What the comment at the end of a line says, else the line."""
    if site >= len(lines):
        return ""
    return lines[site].rpartition("// ")[2].strip()


def run(
    file: str,
    kernel: str,
    args: Sequence[Buffer | int],
    *,
    grid: int | tuple[int, int, int] = 1,
    block: int | tuple[int, int, int] = 32,
    shared: int = 0,
    schedule: str = "forward",
    checks: bool = True,
    resident: int = 0,
    budget: int = 10_000_000,
    states: dict[int, npt.NDArray[np.uint8]] | None = None,
    read_only: Sequence[int] = (),
) -> Outcome:
    """Run one launch. `args`: buffers (allocations of their own) and numbers, 8 bytes each."""
    library, lines = _library(file, checks)
    k = abi.Kernel.in_dll(library, kernel)
    arrays = {id(a): a for a in args if isinstance(a, np.ndarray)}
    arena = np.zeros(sum(a.nbytes + 2 * _GAP for a in arrays.values()) + _GAP, np.uint8)
    places, end = {}, -arena.ctypes.data % 256
    for key, a in arrays.items():
        places[key] = arena[end + _GAP : end + _GAP + a.nbytes]
        places[key][:] = a.reshape(-1).view(np.uint8)
        end += _GAP + -(-a.nbytes // 256) * 256
    values = [places[id(a)].ctypes.data if isinstance(a, np.ndarray) else a for a in args]
    params = (ctypes.c_uint64 * 8)(*[v & (2**64 - 1) for v in values])
    table = (abi.Allocation * max(1, len(arrays)))()
    for n, (key, place) in enumerate(places.items()):
        i = next(i for i, a in enumerate(args) if id(a) == key)
        state = (states or {}).get(i)
        known = state.ctypes.data if state is not None else None
        table[n] = abi.Allocation(place.ctypes.data, place.nbytes, known, int(i in read_only), i, None, 0)
    findings = (abi.Finding * 64)()
    counts = (ctypes.c_uint64 * 8)()
    output = ctypes.create_string_buffer(4096)
    order, _, seed = schedule.partition(":")
    wide = [(x, 1, 1) if isinstance(x, int) else x for x in (grid, block)]
    launch = abi.Launch(
        abi=abi.ABI,
        schedule=abi.SCHEDULES[order],
        seed=int(seed or 0),
        grid=wide[0],
        block=wide[1],
        cluster=(1, 1, 1),
        shared_bytes=k.static_shared + shared,
        resident=resident,
        dynamic_shared=shared,
        params=ctypes.addressof(params),
        allocations=ctypes.addressof(table),
        n_allocations=len(arrays),
        budget=budget,
        findings=ctypes.addressof(findings),
        max_findings=64,
        counts=ctypes.addressof(counts),
        output=ctypes.addressof(output),
        max_output=4096,
    )
    start = time.process_time()
    end = library.emu_run(ctypes.byref(k), ctypes.byref(launch))
    seconds = time.process_time() - start
    for key, a in arrays.items():
        a.reshape(-1).view(np.uint8)[:] = places[key]
    raw = tuple(abi.Finding.from_buffer_copy(f) for f in findings[: launch.n_findings])
    named = tuple((f.code, _label(lines, f.site), _label(lines, f.other_site)) for f in raw)
    text = output.raw[: launch.n_output].decode()
    return Outcome(end, launch.stopped_by, named, raw, text, seconds, launch.budget, tuple(counts))
