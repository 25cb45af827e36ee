"""The emulator finds each defect of the suite, names its line, and says nothing of the clean twins."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emulator.defects.suite import Pair, Twin, compiled, marked_lines, pairs
from verify.emulator.launch import LaunchShape, Program, Ran, RunOptions
from verify.emulator.memory import Memory

pytest.importorskip("cuda.bindings.nvrtc")

SCHEDULES = ("forward", "reverse", "random:1")
BUDGET = 5_000  # the kernels that end take a few hundred steps
ORDER = "CP8051"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: what it found and what it left in each buffer."""

    ran: Ran
    results: dict[str, np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def programs() -> dict[str, Program]:
    return {}


def run(programs: dict[str, Program], pair: Pair, twin: Twin) -> Iterator[Outcome]:
    """The kernel under each schedule, on fresh memory."""
    if pair.file not in programs:
        programs[pair.file] = Program(compiled(pair.file))
    for schedule in SCHEDULES:
        memory = Memory()
        addresses: dict[str, int] = {}
        for b in pair.buffers.values():
            size = b.count * b.dtype.itemsize
            addresses[b.name] = memory.alloc(size, b.name, initialised=b.initial is not None)
            if b.initial is not None:
                ctypes.memmove(addresses[b.name], b.initial.tobytes(), size)
        params = [
            addresses[a].to_bytes(8, "little") if a in addresses else int(a[4:]).to_bytes(4, "little")
            for a in pair.args
        ]
        shape = LaunchShape(twin.grid, twin.block, twin.dynamic)
        options = RunOptions(schedule=schedule, budget=BUDGET)
        ran = programs[pair.file].run(twin.kernel, shape, params, memory, options)
        yield Outcome(
            ran, {b.name: _read(addresses[b.name], b.count, b.dtype) for b in pair.buffers.values()}
        )


def _read(address: int, count: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(ctypes.string_at(address, count * dtype.itemsize), dtype)


def found_codes(outcomes: list[Outcome]) -> set[str]:
    """What the runs found, and CP8051 where all came to their end and left different results."""
    codes = {f.code for o in outcomes for f in o.ran.findings}
    first = outcomes[0].results
    if any(o.ran.stopped for o in outcomes):
        return codes
    if any(not np.array_equal(o.results[n], first[n], equal_nan=False) for o in outcomes[1:] for n in first):
        codes.add(ORDER)
    return codes


@pytest.mark.parametrize("pair", pairs(), ids=lambda p: p.name)
def test_the_defect_is_found_at_its_line(programs: dict[str, Program], pair: Pair) -> None:
    outcomes = list(run(programs, pair, pair.bad))
    codes = found_codes(outcomes)
    said = [f"{f.code} {f.place} {f.other}: {f.message}" for o in outcomes for f in o.ran.findings]
    for alternatives in pair.codes:
        assert alternatives & codes, said
    assert codes <= pair.allowed(), said
    marked = marked_lines(pair.file, pair.bad.kernel)
    wanted = frozenset().union(*pair.codes)
    for outcome in outcomes:
        for f in outcome.ran.findings:
            if f.code in wanted:
                assert Path(f.file).name == pair.file, said
                assert {f.line, f.other.line if f.other else f.line} & marked, said


@pytest.mark.parametrize("pair", pairs(), ids=lambda p: p.name)
def test_the_twin_is_clean_and_right(programs: dict[str, Program], pair: Pair) -> None:
    outcomes = list(run(programs, pair, pair.good))
    said = [f"{f.code} {f.place} {f.other}: {f.message}" for o in outcomes for f in o.ran.findings]
    assert said == []
    for outcome in outcomes:
        assert outcome.ran.stopped == ""
        for of, found, wanted in pair.expected(outcome.results):
            np.testing.assert_array_equal(found, wanted.astype(found.dtype), err_msg=of)
    assert found_codes(outcomes) == set()
