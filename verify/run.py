"""The order of stages for one target; stops at the first closed gate. The only file that knows the order."""

from __future__ import annotations

import datetime
import hashlib
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from verify import space
from verify.algorithm import AlgorithmDiff
from verify.algorithm_rows import difference
from verify.baseline import baseline_of
from verify.ceilings import measured
from verify.certificate import sealed
from verify.compile import CompileJob, compile_ports, job_of
from verify.emulated import Slots
from verify.environment import describe
from verify.files import irregular, write_json
from verify.fuller import kept
from verify.gpu import Quiet, on_gpu
from verify.gpu_lock import GpuLock
from verify.health import tended
from verify.isolate import end_all
from verify.narrow import judged
from verify.options import Options
from verify.pinned import changed, voided
from verify.sanitize import of_emulated_parity
from verify.sanitized import Sanitizing
from verify.spec import Spec
from verify.spec_check import load_checked
from verify.spec_file import SpecError
from verify.static import check_static
from verify.verdict import STAGES, Asked, Remark, StageName, StageResult, Status, Verdict, conclude
from verify.where import Where, choose, emulator_gap

__all__ = ["CompileJob", "Options", "compile_ports", "verify_target", "verify_targets"]


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _harness() -> str:
    """Verify's own code as it lies there now."""
    own = hashlib.sha256()
    for f in sorted(Path(__file__).parent.rglob("*.py")):
        own.update(f.read_bytes())
    return own.hexdigest()


def hashes(target: Path, spec: Spec) -> dict[str, str]:
    """sha256 of what a verdict depends on: spec, original, port, reference and verify's own code."""
    found = {
        "spec": _hash(target / "spec.toml"),
        "original": _hash(target / spec.original.source),
        "port": _hash(target / spec.port.module),
        "reference": _hash(target / "reference.py"),
        "harness": _harness(),
    }
    return {k: v for k, v in found.items() if v}


@dataclass(slots=True)
class _Files:
    """Hashes of each target's files when it all began, and the verdicts that could not be written."""

    begun: Mapping[str, Mapping[str, str]]
    on_kept: Callable[[Remark], None] = lambda _: None
    unwritten: list[OSError] = field(default_factory=list)


def verify_target(target: Path, options: Options | None = None) -> Verdict:
    """Verify one target folder and write its verdict.json. SpecError where spec.toml can't be used."""
    (verdict,) = verify_targets([target], options or Options())
    return verdict


def verify_targets(
    targets: Sequence[Path],
    options: Options,
    on_stage: Callable[[StageResult], None] = lambda _: None,
    read: Mapping[Path, Spec] | None = None,
    on_kept: Callable[[Remark], None] = lambda _: None,
) -> Iterator[Verdict]:
    """Verify target folders; yields each verdict when it is complete, in order of completion.

    All specs are read first: SpecError names every problem of every target before anything runs. `read` are
    specs that load_specs gave the caller before. `on_kept` is told of each verdict.json that stays, since it
    tells of more than this run. OSError at the end where a verdict could not be written.
    """
    specs = load_specs(targets, options.cases) if read is None else {t: read[t] for t in targets}
    files = _Files({str(t): hashes(t, spec) for t, spec in specs.items()}, on_kept)
    where = choose(options)
    done: dict[str, list[StageResult]] = {str(t): [] for t in specs}

    def note(result: StageResult) -> bool:
        done[result.target].append(result)
        on_stage(result)
        return result.status is Status.PASSED

    open_gates = [t for t, spec in specs.items() if note(check_static(t, spec.port.module, spec.port.entry))]
    if options.wants("compile"):
        jobs = [job_of(t, specs[t], disassemble=options.algorithm) for t in open_gates]
        for result in compile_ports(jobs, where.arch, options.jobs, options.timeout):
            note(result)
    ready = [t for t in open_gates if done[str(t)][-1].stage == "compile" and _passed(done[str(t)])]
    if where.runs:
        yield from _all_run(specs, ready, done, where, options, note, files)
    for target, spec in specs.items():
        if not where.runs or target not in ready:
            _close(target, done[str(target)], options, where, note)
            yield _verdict(target, spec, done[str(target)], where, options, files)
    if files.unwritten:
        raise files.unwritten[0]


def _passed(done: list[StageResult]) -> bool:
    return all(s.status is Status.PASSED for s in done)


@contextmanager
def _runner(
    where: Where, options: Options, at_once: int
) -> Iterator[Callable[[Path, Spec], list[StageResult]]]:
    """What runs a target's last stages on the device; may be called from several threads. In the emulator
    `at_once` mutants of each are judged at a time."""
    if where.gpu is not None:
        gpu = where.gpu
        lock = GpuLock(gpu.uuid or gpu.name)
        quiet = Quiet(lock)
        with closing(lock), closing(Slots(where.arch, options.timeout)) as beside:
            # With an emulator beside the GPU, the machine code is doubted.
            doubters = None if emulator_gap()[1] else beside
            with closing(Sanitizing(where.arch, options.timeout, doubters)) as sanitizing:
                yield lambda target, spec: tended(
                    lambda: on_gpu(target, spec, gpu, options, quiet, doubters, sanitizing)
                )
        return

    def emulate(target: Path, spec: Spec) -> list[StageResult]:
        more = at_once - 1 if options.mutate is not None else 0
        with slots.one() as slot, slots.some(more) as others:
            parity = slot.serve(target, spec, options, [s.port for s in others])
        looked = parity.status is Status.PASSED and options.wants("sanitize")
        return [parity, of_emulated_parity(parity)] if looked else [parity]

    with closing(Slots(where.arch, options.timeout)) as slots:
        yield emulate


def _all_run(
    specs: dict[Path, Spec],
    ready: list[Path],
    done: dict[str, list[StageResult]],
    where: Where,
    options: Options,
    note: Callable[[StageResult], bool],
    files: _Files,
) -> Iterator[Verdict]:
    """Parity of several targets at a time, each in its own children; benches one after the other, while no
    parity runs."""

    def one(target: Path) -> list[StageResult]:
        try:
            return run(target, specs[target])
        except OSError as e:
            if not space.from_full_disk(e) and not space.is_full(Path(tempfile.gettempdir())):
                return [_stage("parity", target, Status.AMBIGUOUS, "CP7099", traceback.format_exc())]
            return [_stage("parity", target, Status.NOT_RUN, space.CODE, space.words(e))]
        except Exception:  # a bug met by one target must not cost the others their results
            return [_stage("parity", target, Status.AMBIGUOUS, "CP7099", traceback.format_exc())]

    at_once = max(1, options.jobs // max(1, len(ready)))  # no target waits for a job that is left over
    with _runner(where, options, at_once) as run, ThreadPoolExecutor(max(1, options.jobs)) as pool:
        waiting = {pool.submit(one, t): t for t in ready}
        try:
            for future in as_completed(waiting):
                target = waiting[future]
                own = done[str(target)]
                for result in judged([*own, *future.result()], specs[target])[len(own) :]:
                    note(result)
                _close(target, done[str(target)], options, where, note)
                yield _verdict(target, specs[target], done[str(target)], where, options, files)
        except BaseException:
            for future in waiting:
                future.cancel()
            end_all()  # threads wait for their children; without them they end at once
            raise


def load_specs(targets: Sequence[Path], cases: Sequence[str] = ()) -> dict[Path, Spec]:
    """The specs of all targets, each case resolvable. SpecError with the problems of all of them."""
    specs: dict[Path, Spec] = {}
    problems: list[str] = []
    for target in targets:
        try:
            spec = specs[target] = load_checked(target)
        except SpecError as e:
            problems += e.problems
            continue
        named = (spec.port.module, spec.original.source, "reference.py", "verdict.json")
        problems += [f"{target / n}: not a regular file" for n in named if irregular(target / n)]
        if unknown := [c for c in cases if c not in {k.name for k in spec.case}]:
            problems.append(f"{target / 'spec.toml'}: no case is called {', '.join(unknown)}")
    if problems:
        raise SpecError(problems)
    return specs


def _stage(name: StageName, target: Path, status: Status, code: str | None, why: str) -> StageResult:
    return StageResult(stage=name, target=str(target), status=status, code=code, message=why)


def _close(
    target: Path,
    done: list[StageResult],
    options: Options,
    where: Where,
    note: Callable[[StageResult], bool],
) -> None:
    """Say NOT_RUN and why for each stage that did not run."""
    ran = {s.stage for s in done}
    for name in STAGES:
        if name in ran:
            continue
        closed = next((s for s in done if s.status is not Status.PASSED), None)
        if not options.wants(name):
            note(_stage(name, target, Status.NOT_RUN, None, "not asked for"))
        elif closed is not None and closed.status is not Status.NOT_RUN:
            note(_stage(name, target, Status.NOT_RUN, None, f"{closed.stage} ended {closed.status}"))
        elif closed is not None and closed.stage == "compile":
            note(_stage(name, target, Status.NOT_RUN, closed.code, closed.message))
        else:
            note(_stage(name, target, Status.NOT_RUN, where.code, where.why))


def _algorithm(stages: list[StageResult]) -> AlgorithmDiff | None:
    """How the two sides' code differs, where both were compiled."""
    port = next((s.compile for s in stages if s.compile is not None), None)
    parity = next((s.parity for s in stages if s.parity is not None), None)
    if port is None or parity is None or parity.original is None:
        return None
    return difference(parity.original, port, parity.counts)


def _verdict(
    target: Path,
    spec: Spec,
    stages: list[StageResult],
    where: Where,
    options: Options,
    files: _Files,
) -> Verdict:
    before = files.begun[str(target)]
    if names := changed(before, hashes(target, spec)):
        stages = voided(stages, names)
    status, proven = conclude(stages)
    told = measured() if where.gpu is not None else None
    found = Verdict(
        target=str(target),
        kernel=spec.original.kernel,
        status=status,
        proven=proven,
        stages=stages,
        algorithm=_algorithm(stages),
        hashes=dict(before),
        environment=describe(where.gpu, told.model_dump(mode="json") if told else None),
        seed=options.seed,
        asked=Asked(
            stages=list(options.stages),
            cases=list(options.cases),
            device="gpu" if where.gpu is not None else "emulator" if where.emulator else "none",
            arch=where.arch,
            timeout=options.timeout,
            mutate=options.mutate,
        ),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    verdict = sealed(found)
    try:
        if options.write:
            _write(target / "verdict.json", verdict, files)
        if options.record and (gpu := where.gpu) is not None and status is Status.PASSED:
            folder = target / "baselines"
            folder.mkdir(exist_ok=True)
            record = baseline_of(verdict, gpu).model_dump(mode="json", exclude_none=True)
            write_json(folder / f"{gpu.slug}.json", record)
    except OSError as e:
        files.unwritten.append(e)  # it costs this target its file, and no other anything
    return verdict


def _write(place: Path, verdict: Verdict, files: _Files) -> None:
    if more := kept(place, verdict):
        words = f"{place} is kept, as it tells of more: {more}; delete it to have this run's instead"
        files.on_kept(Remark(target=verdict.target, message=words))
    else:
        write_json(place, verdict.model_dump(mode="json", exclude_none=True))
