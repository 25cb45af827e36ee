"""Mutants of a port that passed, each judged by the runs that the port itself passed: one after the other, or
several at a time by ports in children of their own, beside one original."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from verify.facts import CompileFacts, MutationFacts
from verify.isolate import ends
from verify.mutate.generate import Mutant, choose, mutants
from verify.mutate.remembered import Remembered, remembered
from verify.mutate.score import Judged, Ruling, facts_of, judged
from verify.options import Mutate, Options
from verify.parity import run_parity
from verify.plan import Device, Run
from verify.portcall import known_when_compiled
from verify.resolve import resolve
from verify.right_values import Reference
from verify.sides import ChildSide, Inputs, Side, SideError, SideRan
from verify.spec import Spec
from verify.static import check_static
from verify.verdict import StageResult, Status

# A mutant may loop for ever: it gets this many times what the port took, and a little for what took nothing.
_TIMES, _LEAST_STEPS, _LEAST_SECONDS = 20, 20_000, 20.0
_MUTANTS_PER_CHILD = 48  # what a port compiled stays in its child's memory
# After these a GPU's context is of no use.
_SPOILED = frozenset({Status.LAUNCH_ERROR, Status.SANITIZER, Status.CRASHED, Status.TIMEOUT})
# These may be a kernel that compiles for one case and not for another, which is no mutant.
_MAY_NOT_COMPILE = frozenset({Status.LAUNCH_ERROR, Status.CRASHED})


@dataclass(slots=True)
class Watched:
    """The port's child while the port itself runs: what that took, by case."""

    side: ChildSide
    steps: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        start = time.monotonic()
        ran = self.side.run(case, inputs, repeat)
        self.seconds = max(self.seconds, time.monotonic() - start)
        self.steps[case] = max(self.steps.get(case, 0), ran.steps)
        return ran

    def restart(self) -> None:
        self.side.restart()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that comparing a port with its original takes, see parity.run_parity."""

    target: Path
    spec: Spec
    runs: Sequence[Run]
    original: Side
    port: ChildSide
    reference: Reference | None
    built: CompileFacts
    builder: str
    device: Device


def with_mutants(
    comparison: Comparison, result: StageResult, options: Options, beside: Sequence[ChildSide] = ()
) -> StageResult:
    """A parity stage with what became of mutants, where they are wanted and the port passed. `beside` are
    more ports' children that may judge some of them.

    The port goes through the same runs once more, which shows what it takes: should it fail now, that is the
    stage's result."""
    if options.mutate is None or result.status is not Status.PASSED or result.parity is None:
        return result
    reference = remembered(comparison.reference) if comparison.reference is not None else None
    c = replace(comparison, original=Remembered(comparison.original), reference=reference)
    watched = Watched(c.port)
    again = compare(c, watched)
    if again.status is not Status.PASSED:
        return again
    tried = _try(c, watched, options.mutate, options.seed, beside)
    return result.model_copy(update={"parity": result.parity.model_copy(update={"mutation": tried})})


def compare(c: Comparison, port: Side | None = None, explain: bool = True) -> StageResult:
    """The parity stage of a comparison; `port` is another port than its own."""
    port = port or c.port
    return run_parity(
        str(c.target), c.spec, c.runs, c.original, port, c.reference, c.built, c.builder, c.device, explain
    )


def _try(
    c: Comparison, watched: Watched, wanted: Mutate, seed: int, beside: Sequence[ChildSide]
) -> MutationFacts:
    """Judge mutants of a port that passed. Its child serves them, with those beside it, and all are as they
    were afterwards; the target's folder is only read."""
    start = time.monotonic()
    source = (c.target / c.spec.port.module).read_text(encoding="utf-8")
    every = mutants(source, c.spec.port.entry)
    ports = [c.port, *beside]
    before = [(dict(port.load), port.timeout) for port in ports]
    with tempfile.TemporaryDirectory(prefix="cuteport-mutants-") as folder:
        try:
            for port in beside:
                port.reload(c.port.load)
            own = _Trial(c, watched, Path(folder) / "0")
            others = [
                _Trial(replace(c, port=port), watched, Path(folder) / str(n), own.code)
                for n, port in enumerate(beside, 1)
            ]
            found = list(_all(choose(every, wanted, seed), [own, *others]))
        finally:
            for port, (load, timeout) in zip(ports, before, strict=True):
                port.timeout, port.budgets = timeout, {}
                port.reload(load)
    seconds = round(time.monotonic() - start, 3)
    return facts_of(found, source, c.spec.port.module, len(every), seed, seconds)


def _all(chosen: Sequence[Mutant], trials: Sequence[_Trial]) -> Iterator[Judged]:
    """Each mutant, judged by whichever of the trials is free; in the mutants' order. SideError where the work
    is given up meanwhile."""
    begun = ends()
    free: SimpleQueue[_Trial] = SimpleQueue()
    for trial in trials:
        free.put(trial)

    def judge(source: str) -> Ruling:
        if ends() != begun:  # a child that was ended for good would be started again, for each that is left
            raise SideError("died", trials[0].died, "given up")
        trial = free.get()
        try:
            return trial.judge(source)
        finally:
            free.put(trial)

    if len(trials) == 1:
        yield from judged(chosen, judge)
        return
    pool = ThreadPoolExecutor(len(trials))
    try:
        yield from judged(chosen, judge, pool.map)
    finally:
        pool.shutdown(cancel_futures=True)


class _Trial:
    """Judges one mutant after the other, in one thread. `code` is the port's own, which is compiled where it
    is not given."""

    def __init__(self, comparison: Comparison, watched: Watched, folder: Path, code: str = "") -> None:
        self._c = comparison
        self._port = comparison.port
        self._folder = folder
        self._served = 0
        places = [resolve(comparison.spec, run.case) for run in comparison.runs]
        self._known = [known_when_compiled(comparison.spec, p) for p in places if p.launchable]
        self.code = code or self._port.code(self._known)
        self.died = self._port.role.died
        self._port.timeout = min(self._port.timeout, max(_LEAST_SECONDS, _TIMES * watched.seconds))
        self._port.budgets = {case: _TIMES * n + _LEAST_STEPS for case, n in watched.steps.items()}

    def judge(self, source: str) -> Ruling:
        """The verdict on a changed module."""
        self._served += 1
        if self._served % _MUTANTS_PER_CHILD == 0:
            self._port.restart()
        # A folder for each: Python and the DSL remember sources by their path.
        place = self._folder / str(self._served)
        module = place / self._c.spec.port.module
        module.parent.mkdir(parents=True)
        try:
            shutil.copyfile(self._c.target / "spec.toml", place / "spec.toml")
            module.write_text(source, encoding="utf-8")
            return self._judge_in(place, module)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _judge_in(self, place: Path, module: Path) -> Ruling:
        port, spec = self._port, self._c.spec
        static = check_static(place, spec.port.module, spec.port.entry)
        if static.status is not Status.PASSED:
            return Ruling(static.status, static.code or "")
        port.reload({**port.load, "target": str(place.resolve()), "module": str(module.resolve())})
        # Compiling is what takes time: the first run's code alone, and all only for what gets through.
        if isinstance(code := self._code(self._known[:1]), Ruling):
            return code
        result = compare(self._c, port, explain=False)
        if self._c.device == "gpu" and result.status in _SPOILED:
            port.restart()
        if result.status is Status.PASSED or result.status in _MAY_NOT_COMPILE:
            if isinstance(code := self._code(self._known), Ruling):
                return code
            if code == self.code and result.status is Status.PASSED:
                return Ruling(Status.PASSED, same_code=True)
        return Ruling(result.status, result.code or "")

    def _code(self, known: list[dict[str, Any]]) -> str | Ruling:
        """Hashes of the machine code, or the ruling on what does not compile."""
        try:
            return self._port.code(known)
        except SideError as e:
            return Ruling(Status.COMPILE_ERROR, e.code)
