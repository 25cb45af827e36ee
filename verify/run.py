"""The order of stages for one target; stops at the first closed gate. The only file that knows the order."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.compile import DEFAULT_ARCH, CompileJob, compile_ports, job_of
from verify.environment import Gpu, describe, find_gpu
from verify.expr import ExprError
from verify.spec import Spec, SpecError, load_spec
from verify.static import check_static
from verify.verdict import STAGES, StageName, StageResult, Status, Verdict, conclude

__all__ = ["CompileJob", "Options", "compile_ports", "verify_target", "verify_targets"]


@dataclass(frozen=True, slots=True)
class Options:
    """What to run. `cases` empty means all; `arch` empty means the GPU's own, or sm_90a where there is none.
    `timeout` is seconds per compile and per run of a case."""

    stages: tuple[StageName, ...] = STAGES
    cases: tuple[str, ...] = ()
    seed: int = 0
    arch: str = ""
    timeout: float = 120.0
    record: bool = False
    jobs: int = 1


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def hashes(target: Path, spec: Spec) -> dict[str, str]:
    """sha256 of what a verdict depends on: spec, original, port, reference and verify's own code."""
    own = hashlib.sha256()
    for f in sorted(Path(__file__).parent.rglob("*.py")):
        own.update(f.read_bytes())
    found = {
        "spec": _hash(target / "spec.toml"),
        "original": _hash(target / spec.original.source),
        "port": _hash(target / spec.port.module),
        "reference": _hash(target / "reference.py"),
        "harness": own.hexdigest(),
    }
    return {k: v for k, v in found.items() if v}


def write_json(path: Path, data: Any) -> None:
    """Write JSON under a temporary name, then rename: a reader never sees half a file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as f:
            json.dump(data, f, indent=1)
            f.write("\n")
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def verify_target(target: Path, options: Options | None = None) -> Verdict:
    """Verify one target folder and write its verdict.json. SpecError where spec.toml can't be used."""
    (verdict,) = verify_targets([target], options or Options())
    return verdict


def verify_targets(
    targets: Sequence[Path],
    options: Options,
    on_stage: Callable[[StageResult], None] = lambda _: None,
) -> Iterator[Verdict]:
    """Verify target folders; yields each verdict when it is complete, in order of completion.

    All specs are read first: SpecError names every problem of every target before anything runs.
    """
    specs = load_specs(targets)
    gpu, why = find_gpu() if {"parity", "bench"} & set(options.stages) else (None, "not asked for")
    arch = options.arch or (gpu.arch if gpu else DEFAULT_ARCH)
    stages: dict[str, list[StageResult]] = {str(t): [] for t in targets}

    def note(result: StageResult) -> bool:
        stages[result.target].append(result)
        on_stage(result)
        return result.status is Status.PASSED

    jobs: list[CompileJob] = []
    for target, spec in specs.items():
        if not note(check_static(target, spec.port.module, spec.port.entry)):
            continue
        if "compile" not in options.stages:
            continue
        try:
            jobs.append(job_of(target, spec))
        except ExprError as e:
            note(_stage("compile", target, Status.COMPILE_ERROR, "CP6106", str(e)))
    for result in compile_ports(jobs, arch, options.jobs, options.timeout):
        note(result)
    for target, spec in specs.items():
        _gates(target, stages[str(target)], options, why, note)
        yield _verdict(target, spec, stages[str(target)], gpu, options)


def load_specs(targets: Sequence[Path]) -> dict[Path, Spec]:
    """The specs of all targets. SpecError with the problems of all of them."""
    specs: dict[Path, Spec] = {}
    problems: list[str] = []
    for target in targets:
        try:
            specs[target] = load_spec(target)
        except SpecError as e:
            problems += e.problems
    if problems:
        raise SpecError(problems)
    return specs


def _stage(name: StageName, target: Path, status: Status, code: str | None, why: str) -> StageResult:
    return StageResult(stage=name, target=str(target), status=status, code=code, message=why)


def _gates(
    target: Path,
    done: list[StageResult],
    options: Options,
    no_gpu: str,
    note: Callable[[StageResult], bool],
) -> None:
    """Say NOT_RUN and why for each stage that did not run."""
    ran = {s.stage for s in done}
    for name in STAGES:
        if name in ran:
            continue
        closed = next((s for s in done if s.status is not Status.PASSED), None)
        if name not in options.stages:
            note(_stage(name, target, Status.NOT_RUN, None, "not asked for"))
        elif closed is not None and closed.status is not Status.NOT_RUN:
            note(_stage(name, target, Status.NOT_RUN, None, f"{closed.stage} ended {closed.status}"))
        elif closed is not None and closed.stage == "compile":
            note(_stage(name, target, Status.NOT_RUN, closed.code, closed.message))
        else:
            note(_stage(name, target, Status.NOT_RUN, "CP9002", no_gpu))


def _verdict(
    target: Path, spec: Spec, stages: list[StageResult], gpu: Gpu | None, options: Options
) -> Verdict:
    status, proven = conclude(stages)
    verdict = Verdict(
        target=str(target),
        kernel=spec.original.kernel,
        status=status,
        proven=proven,
        stages=stages,
        hashes=hashes(target, spec),
        environment=describe(gpu),
        seed=options.seed,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    write_json(target / "verdict.json", verdict.model_dump(mode="json", exclude_none=True))
    return verdict
