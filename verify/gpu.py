"""Parity and bench of one target on the GPU: which children are started, and in what order."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify.bench import BenchJob, first_build, run_bench
from verify.ceilings import ceilings
from verify.census import with_own_launches
from verify.counting import Watched, counted
from verify.doubt import Witness, conclude, examine, runs_to_doubt
from verify.environment import Gpu
from verify.facts import DoubtFacts
from verify.gpu_lock import GpuLock
from verify.heldout import extra_runs
from verify.levels import below
from verify.mutate.trial import Comparison, compare, with_mutants
from verify.options import Options
from verify.original_side import BuiltOriginal, build_original
from verify.parity import not_compared, run_parity
from verify.plan import Run, plan
from verify.references import own_reference, reference_for
from verify.right_values import Reference
from verify.sanitized import Sanitizing, Subject
from verify.sides import ORIGINAL, PORT, ChildSide, SideError
from verify.spec import Spec
from verify.verdict import StageResult, Status

if TYPE_CHECKING:
    from verify.emulated import Slot, Slots

# Outcomes that wrong machine code can have, or hide behind.
_DOUBTED = frozenset(
    {
        Status.PASSED,
        Status.WRONG_VALUES,
        Status.LAUNCH_ERROR,
        Status.SANITIZER,
        Status.TIMEOUT,
        Status.CRASHED,
        Status.ORIGINAL_SUSPECT,
    }
)


class Quiet:
    """Lets several parities run together, and a bench only while nothing else uses the GPU: no thread of this
    process and, by the lock, no other verify."""

    def __init__(self, lock: GpuLock | None = None) -> None:
        self._lock = lock
        self._condition = threading.Condition()
        self._sharing = 0
        self._benching = False
        self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the GPU together with others."""
        if self._lock is not None:
            self._lock.pass_turn()
        with self._condition:
            # A waiting bench goes first, or a stream of parities would starve it.
            self._condition.wait_for(lambda: not self._benching and not self._waiting)
            self._sharing += 1
            if self._sharing == 1 and self._lock is not None:
                self._lock.take(alone=False)
        try:
            yield
        finally:
            with self._condition:
                self._sharing -= 1
                if not self._sharing and self._lock is not None:
                    self._lock.release()
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the GPU alone."""
        with self._condition:
            self._waiting += 1
            self._condition.wait_for(lambda: not self._benching and not self._sharing)
            self._waiting -= 1
            self._benching = True
            if self._lock is not None:
                self._lock.take(alone=True)
        try:
            yield
        finally:
            with self._condition:
                self._benching = False
                if self._lock is not None:
                    self._lock.release()
                self._condition.notify_all()


def on_gpu(
    target: Path,
    spec: Spec,
    gpu: Gpu,
    options: Options,
    quiet: Quiet,
    slots: Slots | None = None,
    sanitizing: Sanitizing | None = None,
) -> list[StageResult]:
    """The parity stage, then the sanitize and the bench stage if it passed. The original is built first. With
    `slots` the machine code of both sides is doubted: compared with its PTX in the emulator."""
    module = str((target / spec.port.module).resolve())
    place = str(target.resolve())
    checks = sanitizing if options.wants("sanitize") else None
    with (
        tempfile.TemporaryDirectory(prefix="cuteport-build-") as folder,
        closing(ChildSide(PORT, {"target": place, "module": module}, gpu.arch, options.timeout)) as port,
    ):
        try:
            with closing(ChildSide(ORIGINAL, {}, gpu.arch, options.timeout)) as builder:
                built = build_original(
                    builder, place, gpu.arch, Path(folder),
                    lines=checks is not None, disassemble=options.algorithm,
                )  # fmt: skip
        except SideError as e:
            return [not_compared(target, e)]
        cubin = Path(folder) / "cubin"
        load = {"target": place, "cubin": str(cubin), "names": built.names}
        with quiet.shared():
            parity = _parity(target, spec, load, port, gpu, options, built, slots)
        done = [parity]
        if parity.status is Status.PASSED and checks is not None:
            with quiet.shared():
                done.append(checks.serve(Subject(target, spec, options, Path(folder), built.names)))
        if done[-1].status not in (Status.PASSED, Status.NOT_RUN) or not options.wants("bench"):
            return done
        assert parity.parity is not None
        with quiet.alone():
            job = BenchJob(
                str(target),
                spec,
                cubin,
                built.names,
                options.cases,
                options.seed,
                parity.parity.order_dependent,
                built.options,
                built.dropped,
                parity.parity.counts,
            )
            matrix = bool(built.facts.features.get("tensor_core"))
            bench = run_bench(
                job,
                port,
                lambda: ceilings(gpu.arch, matrix),
                lambda: first_build(place, gpu.arch, options.timeout),
                lambda: own_reference(target, spec, options, gpu.arch),
            )
        return [*done, bench]


def _parity(
    target: Path,
    spec: Spec,
    load: dict[str, Any],
    port: ChildSide,
    gpu: Gpu,
    options: Options,
    built: BuiltOriginal,
    slots: Slots | None,
) -> StageResult:
    runs = plan(spec, options.cases, options.seed)
    runs += extra_runs(target, spec, options.cases, options.seed, "gpu")
    with (
        closing(ChildSide(ORIGINAL, load, gpu.arch, options.timeout)) as original,
        closing(ChildSide(ORIGINAL, {}, gpu.arch, options.timeout)) as numbers,
    ):
        try:
            with reference_for(target, spec, options, numbers, ORIGINAL, gpu.arch) as reference:
                comparison = Comparison(
                    target, spec, runs, original, port, reference, built.facts, built.words, "gpu"
                )
                parity = compare(comparison)
                if slots is not None and parity.status in _DOUBTED:
                    with slots.one() as slot:
                        parity = _doubt(
                            target, spec, options, parity, original, port, numbers, reference, slot
                        )
                parity = with_own_launches(target, spec, runs, port, parity, options.timeout)
                return with_mutants(comparison, parity, options)
        except SideError as e:
            return not_compared(target, e)


def _doubt(
    target: Path,
    spec: Spec,
    options: Options,
    parity: StageResult,
    original: ChildSide,
    port: ChildSide,
    builder: ChildSide,
    reference: Reference | None,
    slot: Slot,
) -> StageResult:
    """The parity stage after each side's machine code was compared with its PTX."""
    assert parity.parity is not None
    own, own_port = dict(original.load), dict(port.load)
    failed = None if parity.status is Status.PASSED else next(reversed(parity.parity.runs), None)
    runs = runs_to_doubt(spec, options.cases, options.seed, failed)
    ptx = str(Path(own["cubin"]).with_name("ptx"))
    slot.original.reload({"target": own["target"], "ptx": ptx, "names": own["names"]})
    slot.port.reload({**own_port, "arch": slot.arch})

    def original_at(level: int | None) -> None:
        if level is None:
            original.reload(own)
            return
        folder = Path(own["cubin"]).with_name(f"level{level}")
        folder.mkdir(exist_ok=True)
        built = build_original(builder, own["target"], slot.arch, folder, level=level)
        original.reload({**own, "cubin": str(folder / "cubin"), "names": built.names})

    def port_at(level: int | None) -> None:
        port.reload(own_port if level is None else {**own_port, "level": level})

    def nature(side: ChildSide) -> Callable[[], Mapping[str, Any]]:
        return lambda: side.ask({"do": "nature"}, options.timeout)

    pinned = spec.port.opt_level
    # What the PTX of both sides executes and moves is seen on the way.
    seen = Watched(slot.original), Watched(slot.port)
    witnesses = (
        Witness("original", original, seen[0], nature(slot.original), original_at, below(None)),
        Witness("port", port, seen[1], nature(slot.port), port_at, below(pinned), pinned),
    )
    doubts = [examine(spec, runs, w, reference) for w in witnesses]
    counts = counted(spec, parity.parity.runs, *seen)
    parity = parity.model_copy(update={"parity": parity.parity.model_copy(update={"counts": counts})})
    return conclude(parity, doubts, _against_meaning(target, spec, runs, slot, port, doubts))


def _against_meaning(
    target: Path,
    spec: Spec,
    runs: Sequence[Run],
    slot: Slot,
    port: ChildSide,
    doubts: Sequence[DoubtFacts],
) -> str:
    """How the port compares with what the PTX of a suspect original means; "" where none is."""
    if doubts[0].right_at is None:
        return ""
    judged = run_parity(str(target), spec, runs, slot.original, port)
    assert judged.parity is not None
    if judged.status is Status.PASSED:
        return f"the port gives what that PTX means in {len(judged.parity.runs)} runs"
    return f"compared with what that PTX means, the port is {judged.status}: {judged.code} {judged.message}"
