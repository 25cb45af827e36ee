"""One run of `check` from its arguments to its report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from verify.check.baseline import EMULATOR
from verify.check.changed import SHARED, GitError, affected, touched
from verify.check.engine import Asked, Check, Progress
from verify.check.folder import NoRunError, RunFolder
from verify.check.model import FAIL_ON, CheckReport, How, Outcome, TargetResult, counted
from verify.check.model import exit_code as exit_code_of
from verify.check.output import UsageError
from verify.exits import EXIT_INTERRUPTED
from verify.options import Options
from verify.where import Where, choose


@dataclass(frozen=True, slots=True)
class Request:
    """`dirs` are targets or folders of them; empty with `resume` for those of the run that goes on.
    `since` is a git revision, `shared` what every target depends on, as patterns of paths in the work tree.
    """

    dirs: tuple[Path, ...]
    options: Options = field(default_factory=Options)
    full: bool = False
    record: bool = False
    resume: bool = False
    since: str = ""
    shared: tuple[str, ...] = SHARED
    fail_on: tuple[Outcome, ...] = FAIL_ON
    runs: Path = Path("runs")


def outcomes_of(text: str) -> tuple[Outcome, ...]:
    """What --fail-on lists, any case; `none` for nothing. UsageError names what is no outcome."""
    words = [w.strip().upper() for w in text.split(",") if w.strip()]
    if words == ["NONE"]:
        return ()
    known = {o.value for o in Outcome if o is not Outcome.OK}
    if not words or (bad := [w for w in words if w not in known]):
        said = ", ".join(w.lower() for w in (bad if words else ["nothing"]))
        raise UsageError(f"unknown outcome {said}; known: {', '.join(o.lower() for o in known)}, none")
    return tuple(o for o in Outcome if o.value in words)


def targets_in(dirs: Sequence[Path]) -> list[Path]:
    """Each folder with a spec.toml, itself or one level down; also folders one level down that hold a port
    or a baseline without a spec, which must not be overlooked. A name that does not exist stands for itself.
    """
    found: list[Path] = []
    for d in dirs:
        if (d / "spec.toml").exists() or not d.is_dir():
            found.append(d)
            continue
        inner = [p for p in sorted(d.iterdir()) if p.is_dir() and _is_target(p)]
        found += inner or ([d] if _is_target(d) else [])
    return list(dict.fromkeys(found))


def _is_target(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("spec.toml", "port.py", "baselines"))


def run_check(
    request: Request,
    on_result: Callable[[TargetResult], None] = lambda _: None,
    notify: Callable[[Progress], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> CheckReport:
    """Check the targets of a request. UsageError; an interruption is part of the report."""
    start = time.monotonic()
    folder = None
    dirs = list(request.dirs)
    try:
        if request.resume:
            folder = RunFolder.last(request.runs, dirs)
            dirs = dirs or folder.dirs
    except NoRunError as e:
        raise UsageError(f"--resume: {e}") from e
    try:
        targets = targets_in(dirs)
        if not any(t.is_dir() for t in targets):
            raise UsageError(f"no targets in {', '.join(map(str, dirs)) or 'the run that was to go on'}")
        if request.since:
            targets = _since(request, targets)
        folder = folder or RunFolder.create(request.runs, [str(d.resolve()) for d in dirs])
        where = choose(request.options)
        results, interrupted = _results(request, targets, folder, where, on_result, notify)
        if not interrupted:
            folder.finish()
        if folder.failed:
            warn(f"{folder.failed}: --resume will not know of this run")
    finally:
        if folder is not None:
            folder.close()
    code = EXIT_INTERRUPTED if interrupted else exit_code_of(results, request.fail_on)
    reached = {r.target for r in results}
    how: Counter[How] = Counter(r.values.how for r in results)
    check = Check(Asked(request.options), where, folder)
    return CheckReport(
        exit_code=code,
        device=where.gpu.name if where.gpu else EMULATOR if where.emulator else f"none: {where.why}",
        arch=where.arch,
        run="" if folder.failed else str(folder.path),
        fail_on=list(request.fail_on),
        counts=counted(results),
        how=dict(sorted(how.items())),
        versions=check.versions,
        targets=sorted(results, key=lambda r: r.target),
        not_reached=[str(t) for t in targets if str(t) not in reached],
        recorded=sum(r.recorded and not r.resumed for r in results),
        interrupted=interrupted,
        seconds=round(time.monotonic() - start, 3),
    )


def _since(request: Request, targets: list[Path]) -> list[Path]:
    try:
        root, paths = touched(request.since, Path())
    except GitError as e:
        raise UsageError(f"--changed-since {request.since}: {e}") from e
    return affected(targets, root, paths, request.shared)


def _results(
    request: Request,
    targets: list[Path],
    folder: RunFolder,
    where: Where,
    on_result: Callable[[TargetResult], None],
    notify: Callable[[Progress], None],
) -> tuple[list[TargetResult], bool]:
    """The results as far as the run got, and whether it was interrupted."""
    found: list[TargetResult] = []
    check = Check(Asked(request.options, request.full, request.record), where, folder, notify)
    try:
        with closing(check.results(targets)) as results:
            for result in results:
                found.append(result)
                on_result(result)
    except KeyboardInterrupt:
        return found, True
    return found, False
