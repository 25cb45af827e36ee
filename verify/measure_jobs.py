"""The worker's job that sees which elements of its buffers an original touches. Child side only."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from verify.emulated_jobs import HELD, spec_of
from verify.emulator.footprint import Footprint, Pointer, Touched, follow
from verify.emulator.launch import RunOptions
from verify.emulator.ptx.module import PtxError
from verify.inputs import Bytes, contents, lanes, view
from verify.jobs import Emit, JobError
from verify.original import argument_bytes
from verify.resolve import Resolved, resolve
from verify.spec_args import BufferArg

# Loads by which threads wait for others: in another order they may come before what they wait for.
_WAITS = re.compile(r"ld\.(?:volatile|relaxed|acquire)|atom\b")
_LOOSE = re.compile(r"(?:atom|red)\b.*\.add\b.*\.(?:f16|f16x2|bf16|bf16x2|f32|f64)\b")
_BUDGET = 1 << 22  # backward branches and waits of all threads together: a fraction of a second


def measure_original(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """One launch on a case, the buffers `asked` growing as the kernel needs. With `zeros`, memory holds
    nothing but the values that the spec lists."""
    original, spec = HELD.original, spec_of(HELD)
    assert original is not None
    resolved = resolve(spec, next(c for c in spec.case if c.name == job["case"]))

    def start(arg: BufferArg) -> Callable[[int], Bytes]:
        return lambda size: _contents(arg, size, resolved, job["zeros"])

    placed = [arg for arg in spec.buffers if not arg.symbol]
    sizes = {arg.name: resolved.elems[arg.name] * arg.element_bytes for arg in spec.buffers}
    pointers = [Pointer(a.name, start(a), None if a.name in job["asked"] else sizes[a.name]) for a in placed]

    def values(at: Mapping[str, int]) -> list[bytes]:
        for arg in spec.buffers:
            if arg.symbol:
                address, room = original.symbols[arg.name]
                data = start(arg)(min(room, sizes[arg.name]))
                ctypes.memmove(address, data.ctypes.data, data.nbytes)
        return argument_bytes(spec, resolved, dict(at))

    options = RunOptions(count=True, budget=_BUDGET)  # counts, as parity: what is compiled serves both
    shape = original.shape(resolved)
    try:
        runs = [follow(original.program, original.kernel, shape, pointers, values, options)]
        if any(count and _WAITS.match(name) for name, count in runs[0].opcodes.items()):
            other = replace(options, schedule="random:1")
            runs.append(follow(original.program, original.kernel, shape, pointers, values, other))
    except PtxError as e:
        raise JobError(e.code, e.message) from e
    return _told(runs, {arg.name: arg.element_bytes for arg in placed})


def _contents(arg: BufferArg, size: int, resolved: Resolved, zeros: bool) -> Bytes:
    made = contents(arg, size // arg.element_bytes, resolved, 0, "spec")
    if zeros:
        for lane in lanes(arg):
            if lane.values is None:
                view(made, lane)[:] = np.zeros(1, lane.dtype.carrier)
    return made


def _told(runs: Sequence[Footprint], unit: Mapping[str, int]) -> dict[str, Any]:
    """What all runs show together: a buffer is read first where any of them reads it first."""

    def one(seen: Sequence[Touched]) -> dict[str, Any]:
        return {
            "elems": max(-(-t.extent // unit[t.name]) for t in seen),
            "role": _role({t.role for t in seen} - {"unused"}),
            "below": any(t.below for t in seen),
            "complete": all(t.complete for t in seen),
        }

    loose = any(count and _LOOSE.match(name) for name, count in runs[0].opcodes.items())
    buffers = {seen[0].name: one(seen) for seen in zip(*(r.pointers for r in runs), strict=True)}
    stopped = next((r.ran.stopped for r in runs if r.ran.stopped), "")
    return {"stopped": stopped, "buffers": buffers, "loose": loose}


def _role(roles: Set[str]) -> str:
    return "inout" if len(roles) > 1 else next(iter(roles), "unused")


HANDLERS = {"measure_original": measure_original}
