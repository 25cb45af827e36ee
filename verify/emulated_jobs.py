"""The worker's jobs in the emulator: run a case on either side, without a GPU. Child side only."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from verify.buffers import Buffers, poison_byte, run_once
from verify.device import Bytes, DeviceError
from verify.device_jobs import call_port, case_of, code_of, entry_of, report
from verify.emulated_original import EmulatedOriginal
from verify.emulator.device import EmulatedDevice
from verify.emulator.launch import LaunchShape, Program, Ran, RunOptions
from verify.emulator.memory import READ, WRITTEN
from verify.emulator.opening import open_program, parameter_sizes, variable
from verify.emulator.port import dsl
from verify.emulator.port.launches import Launch, Session
from verify.emulator.ptx.module import PtxError
from verify.emulator.report import Finding
from verify.jobs import Emit, JobError, describe
from verify.resolve import Resolved
from verify.spec import Spec
from verify.spec_file import load_spec

_Launch = Callable[[Resolved, dict[str, int]], None]
_NAMED_SCHEDULES = ("forward", "reverse")


def schedule_of(repeat: int) -> str:
    """The order of threads in a repeat: the two plain ones, then random ones."""
    return _NAMED_SCHEDULES[repeat] if repeat < len(_NAMED_SCHEDULES) else f"random:{repeat}"


class Emulation:
    """What one child holds between jobs: memory, the programs that ran, one original or one port."""

    def __init__(self) -> None:
        self.device = EmulatedDevice()
        self.buffers = Buffers(self.device)
        self.spec: Spec | None = None
        self.original: EmulatedOriginal | None = None
        self.entry: Any = None
        self.session: Session | None = None
        self.options = RunOptions()
        self.seen: list[Ran] = []  # launches of the job at work
        self.shapes: list[LaunchShape] = []  # theirs
        self.strayed: list[str] = []  # kernels of them that were launched on another stream than they should
        self._programs: dict[str, Program] = {}

    def program(self, ptx: str) -> Program:
        """The program of a PTX text, kept: its variables live as long as the port does."""
        if ptx not in self._programs:
            self._programs[ptx] = open_program(ptx)
        return self._programs[ptx]

    @property
    def programs(self) -> list[Program]:
        """What ran here last: the original's program, or the port's."""
        return [self.original.program] if self.original is not None else list(self._programs.values())

    def forget(self) -> None:
        """Another port comes: buffers and programs of the one before are of no use to it."""
        self.buffers.clear()
        self.device.dismiss_all()
        self.original = None
        self._programs.clear()

    def run(self, launch: Launch) -> None:
        """A launch of the port."""
        if launch.stream != self.device.stream:
            self.strayed.append(launch.kernel)
        program = self.program(launch.ptx)
        values = launch.values(parameter_sizes(program, launch.kernel))
        shape = LaunchShape(launch.grid, launch.block, launch.smem, launch.cluster, launch.cooperative)
        self.shapes.append(shape)
        self.seen.append(program.run(launch.kernel, shape, values, self.device.memory, self.options))

    def symbol(self, ptx: str, name: str) -> tuple[int, int]:
        """A variable of the port's module, as cudaLibraryGetGlobal gives it."""
        at, size = variable(self.program(ptx), name)
        self.device.admit(at, size)
        return at, size


HELD = Emulation()


def load_emulated_original(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Make the built original ready; `ptx` is a file."""
    HELD.forget()
    HELD.spec = load_spec(Path(job["target"])).with_original(job.get("original", {}))
    ptx = Path(job["ptx"]).read_text(encoding="utf-8")
    HELD.original = _checked(lambda: EmulatedOriginal(HELD.device, ptx, job["names"], spec_of(HELD)))
    return {}


def load_emulated_port(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Import the port; its entry compiles when it is first called. The first port brings the DSL with it."""
    HELD.forget()
    if HELD.session is None:
        HELD.session = _checked(lambda: _catch_launches(job["arch"]))
    HELD.spec, HELD.entry = entry_of(Path(job["target"]))
    return {}


def code_of_emulated_port(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Compile the loaded port; see device_jobs.code_of."""
    return {"code": code_of(HELD.entry, job)}


def spec_of(held: Emulation) -> Spec:
    """The loaded target's spec."""
    assert held.spec is not None
    return held.spec


def _catch_launches(arch: str) -> Session:
    dsl.prepare()
    try:
        importlib.import_module("cutlass.cute")
    except BaseException as e:
        raise JobError("CP9001", describe(e)[0]) from e
    session = Session(arch, HELD.run, HELD.symbol)
    dsl.attach(session, HELD.device.copy)
    return session


def emulate_original(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """One launch of the original on the given inputs."""
    original = HELD.original
    assert original is not None

    def launch(resolved: Resolved, addresses: dict[str, int]) -> None:
        if misfit := original.misfit(resolved, addresses):
            raise JobError("CP7025", misfit)
        HELD.shapes.append(original.shape(resolved))
        HELD.seen.append(original.launch(resolved, addresses, HELD.options))

    return _emulate(job, "CP7002", launch)


def emulate_port(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """One call of the port on the given inputs."""
    session, path = HELD.session, Path(job["module"])
    assert session is not None

    def launch(resolved: Resolved, addresses: dict[str, int]) -> None:
        session.call(
            lambda: call_port(HELD.entry, spec_of(HELD), resolved, addresses, HELD.device.stream, path)
        )

    return _emulate(job, "CP7003", launch)


def _emulate(job: dict[str, Any], refused: str, launch: _Launch) -> dict[str, Any]:
    """Run under the repeat's schedule; the reply says what was seen besides the outputs, and of the first
    repeat what was executed and moved. All runs count, so that one compiled kernel does for all: it is some
    2 % slower."""
    spec, resolved, inputs = case_of(HELD.spec, job)
    touched: dict[str, tuple[int, int]] = {}

    foreign: list[str] = []

    def here(addresses: dict[str, int]) -> None:
        if asked := job.get("ask"):
            HELD.options = replace(HELD.options, asked=addresses[asked[0]] + asked[1])
        launch(resolved, addresses)
        foreign.extend(_foreign(spec, inputs, addresses, job["repeat"]))
        if job["repeat"] == 0:
            touched.update(_touched(spec, addresses))

    budget = job.get("budget") or RunOptions().budget
    HELD.options = RunOptions(schedule=schedule_of(job["repeat"]), count=True, budget=budget)
    HELD.seen, HELD.shapes, HELD.strayed = [], [], []
    shifted = job.get("shifted", False)
    try:
        ran = _checked(lambda: run_once(HELD.buffers, spec, resolved, inputs, job["repeat"], here, shifted))
    except DeviceError as e:
        raise JobError(refused, str(e)) from e
    for one in HELD.seen:
        if one.printed:
            print(one.printed, end="", file=sys.stderr)
    found = [_told(f) for one in HELD.seen for f in one.findings]
    executed: Counter[str] = Counter()
    for one in HELD.seen if job["repeat"] == 0 else ():
        executed.update(one.opcodes)
    steps = sum(one.steps for one in HELD.seen)
    seen = {"findings": found, "touched": touched, "opcodes": dict(executed), "steps": steps}
    seen["launches"] = [[*s.grid, *s.block, s.smem] for s in HELD.shapes]
    writers = [one.writer for one in HELD.seen if one.writer is not None]
    last = [(w.block, w.thread, w.place.file, w.place.line) for w in writers[-1:]]
    seen |= {"foreign": foreign, "strayed": HELD.strayed, "writer": last[0] if last else None}
    return {**report(ran, Path(job["out"])), **seen}


def _touched(spec: Spec, addresses: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Distinct bytes of each buffer behind a pointer that were (read, written). What is read after the launch
    wrote it is no traffic."""
    found: dict[str, tuple[int, int]] = {}
    for arg in spec.buffers:
        if not arg.symbol:
            held = HELD.device.memory.holding(addresses[arg.name], 0)
            assert held is not None
            state = held.state[addresses[arg.name] - held.base :]
            found[arg.name] = int(np.count_nonzero(state & READ)), int(np.count_nonzero(state & WRITTEN))
    return found


def _foreign(
    spec: Spec, inputs: Mapping[str, Bytes], addresses: Mapping[str, int], repeat: int
) -> Iterator[str]:
    """Buffers of which bytes changed that no launch wrote: host code did."""
    for arg in spec.buffers:
        at = addresses[arg.name]
        held = HELD.device.memory.holding(at, 0)
        if arg.symbol or held is None:
            continue
        size = held.end - at if arg.name not in inputs else len(inputs[arg.name])
        before = inputs[arg.name] if not arg.poisoned else poison_byte(arg, repeat)
        unwritten = (held.state[at - held.base :][:size] & WRITTEN) == 0
        if np.any((HELD.device.download(at, size) != before) & unwritten):
            yield arg.name


def _told(found: Finding) -> dict[str, Any]:
    return {
        "code": found.code,
        "message": found.message,
        "file": found.file,
        "line": found.line,
        "ptx": found.ptx,
        "count": found.count,
        "block": found.block,
        "thread": found.thread,
    }


def _checked(work: Callable[[], Any]) -> Any:
    """What the emulator refuses keeps its own code."""
    try:
        return work()
    except PtxError as e:
        raise JobError(e.code, e.message) from e


HANDLERS = {
    "load_emulated_original": load_emulated_original,
    "load_emulated_port": load_emulated_port,
    "code_of_emulated_port": code_of_emulated_port,
    "emulate_original": emulate_original,
    "emulate_port": emulate_port,
}
