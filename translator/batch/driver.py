"""Many sources at once: units to child processes, kernels to folders, folders to `verify`.

A unit that crashes, hangs or can't be written costs its own kernels, never another's.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from translator import runs
from translator.batch import fanout
from translator.batch.groups import alone, groups
from translator.batch.judge import add_questions, judge
from translator.batch.measured import measure_drafts
from translator.batch.run_file import RUN
from translator.batch.work import Part, Ported, translate_part
from translator.diag.diagnostic import Diagnostic, Sink, Span
from translator.frontend.inputs import Inputs, ReadOptions, UnitInput, collect
from translator.outcome import NOT_RUN, Finding, Outcome, Report
from translator.output import TASK, EditedError, Wanted, file_safe, folder_names, write_folder
from translator.settings import Settings
from verify.origin import read_origin

Tell = Callable[[str, int, int, str], None]

# Said by a part for itself; only true of the whole where every part says it.
_OF_THE_WHOLE = frozenset({"CP1012", "CP1015"})


@dataclass(slots=True)
class Run:
    """One run's moving parts: what came back so far, and where bugs are recorded."""

    settings: Settings
    report: Report
    ported: list[Ported]

    @property
    def run_folder(self) -> Path:
        if not self.report.run_folder:
            self.report.run_folder = str(runs.new_folder(self.settings.runs))
        return Path(self.report.run_folder)


def read_options(settings: Settings) -> ReadOptions:
    """The frontend's part of the settings."""
    return ReadOptions(
        includes=settings.include,
        defines=settings.define,
        std=settings.std or ReadOptions().std,
        compile_commands=str(settings.compile_commands) if settings.compile_commands else None,
        kernels=settings.kernels,
        instantiate=settings.instantiate,
        opt_level=None if settings.opt_level < 0 else settings.opt_level,
        below=settings.below,
    )


def port(paths: Sequence[str], settings: Settings, tell: Tell) -> Report:
    """Port every kernel of `paths` and check the ports; one Outcome per kernel or unreadable file."""
    start = time.perf_counter()
    run = Run(settings, Report(), [])
    try:
        translate_all(run, paths, tell)
        _write(run)
        if settings.verify:
            measure_drafts(run.report.outcomes, settings, tell)
            if settings.model:
                _or_told(run, lambda: _ask_model(run, tell))
            _or_told(run, lambda: judge(run.report.outcomes, settings, tell))
        add_questions(run.report.outcomes)
    except KeyboardInterrupt:
        run.report.interrupted = True
        run.report.halted = _how_far(run)
        run.report.outcomes = run.report.outcomes or [p.outcome for p in run.ported]
    run.report.seconds = time.perf_counter() - start
    return run.report


def _or_told(run: Run, work: Callable[[], None]) -> None:
    """What can't be written is an outcome of its own: what else was ported and proven is still reported."""
    try:
        work()
    except OSError as error:
        if error.filename is None or isinstance(error, FileNotFoundError):
            raise  # no want of the disk's
        path = os.fsdecode(error.filename)
        reason = error.strerror or type(error).__name__
        made = Diagnostic("CP0002", Span(path), (("path", path), ("reason", reason)))
        run.report.outcomes.append(_problem(made))


def _ask_model(run: Run, tell: Tell) -> None:
    """Have a model propose ports of what was refused; `judge` then treats them like any other."""
    from translator.batch.refused import fill

    if any(o.status == "REFUSED" and o.out for o in run.report.outcomes):
        fill(run.report.outcomes, run.settings, run.run_folder, tell)


def _how_far(run: Run) -> str:
    """What an interrupted run got done; kernels are written once all files are read."""
    report = run.report
    if report.files_read < report.files or not report.outcomes:
        return f"{report.files_read} of {report.files} files read, no kernel written"
    written = [o for o in report.outcomes if o.kernel]
    waits = [o for o in written if run.settings.model and o.status == "REFUSED" and o.out and not _asked(o)]
    done = [o for o in written if (o.status != NOT_RUN or not run.settings.verify) and o not in waits]
    said = f"{len(done)} of {sum(bool(p.outcome.kernel) for p in run.ported)} kernels done"
    resumable = waits and (Path(report.run_folder or ".") / RUN).is_file()
    return said + f"; `cuteport runs resume {report.run_folder}` goes on" * bool(resumable)


def _asked(outcome: Outcome) -> bool:
    """Whether a model was asked about a task to the end; a stage of the pipeline has the same name."""
    return outcome.stages[-1].name == "model"


def translate_all(run: Run, paths: Sequence[str], tell: Tell, *, census: bool = False) -> None:
    """Read and translate in child processes; `run.ported` is what came back, best reading of each kernel."""
    sink = Sink()
    options = read_options(run.settings)
    paths = [p if not p.startswith("-") else f"./{p}" for p in paths]  # no option of the parser
    inputs, run.report.skipped = without_own(collect(paths, options, sink), paths, run.settings.out)
    run.report.files = len(inputs.units)
    keep = run.run_folder if run.settings.keep_stages else None
    tasks = (run.settings.tasks or bool(run.settings.model)) and not census
    parts = [Part(part, options, keep, census, tasks) for part in groups(inputs)]
    said = [Ported(_problem(d)) for d in sink.items]
    if parts:
        tell("translated", 0, run.report.files, "")
    came = said + _ask(run, parts, tell)
    run.ported = unique(came, len(parts)) or [
        Ported(_problem(Diagnostic("CP1005", Span(p), (("path", p),)))) for p in paths
    ]
    for k, one in enumerate(run.ported):
        if one.bug:  # never shown: the run folder holds it
            name = f"{k:04}-{file_safe(one.outcome.name)}.traceback.txt"
            with contextlib.suppress(OSError):  # a full disk does not make it worse
                runs.save_bug(run.run_folder, one.bug, name)


def without_own(inputs: Inputs, paths: Sequence[str], out: Path) -> tuple[Inputs, tuple[str, ...]]:
    """`inputs` less what cuteport wrote, and the folders left out: the output folder and folders of ports.

    What is named is kept, and what lies in a named folder of a port.
    """
    named = {Path(p).resolve() for p in paths}
    own = out.resolve()
    kept: list[UnitInput] = []
    skipped: dict[str, None] = {}
    for unit in inputs.units:
        path = Path(unit.path)
        real = path.resolve()
        port = next((k for k, p in enumerate(real.parents) if _is_port(p)), None)
        if real in named or any(own == n or own in n.parents for n in named):
            kept.append(unit)
        elif port is not None and not named & set(real.parents[: port + 1]):
            skipped[str(path.parents[port] if port < len(path.parents) else real.parents[port])] = None
        elif own not in real.parents and not _is_slice(real):
            kept.append(unit)
    return Inputs(kept, inputs.includers), tuple(skipped)


def _is_slice(path: Path) -> bool:
    return path.name == "device.cu" and (path.parent.parent / "spec.toml").exists()


def _is_port(folder: Path) -> bool:
    """Whether cuteport wrote this folder: a port, or a task."""
    made = (folder / "spec.toml").is_file() and (folder / "original").exists()
    return made and any((folder / n).exists() for n in ("port.py", TASK))


def _ask(run: Run, parts: Sequence[Part], tell: Tell, again: bool = True) -> list[Ported]:
    came: list[Ported] = []
    lost: list[tuple[Part, fanout.Lost]] = []
    units = sum(len(p.inputs.units) for p in parts)
    finished = 0

    def arrived(index: int, result: list[Ported] | fanout.Lost) -> None:
        nonlocal finished
        finished += len(parts[index].inputs.units)
        run.report.files_read = max(run.report.files_read, finished)
        tell("translated", finished, units, parts[index].inputs.units[0].path)
        if isinstance(result, fanout.Lost):
            lost.append((parts[index], result))
        else:
            came.extend(result)
            run.ported = came

    timeout, jobs = run.settings.unit_timeout, run.settings.workers
    fanout.run(parts, translate_part, jobs=jobs, timeout=timeout, done=arrived)
    for part, why in lost:
        if again and len(part.inputs.units) > 1:
            single = [replace(part, inputs=one) for one in alone(part.inputs)]
            came += _ask(run, single, tell, again=False)
        else:
            came += [_lost(run, u.path, why) for u in part.inputs.units]
    return came


def lost_reading(path: str, why: fanout.Lost, settings: Settings) -> Diagnostic:
    """What is said of a unit whose process raised (CP0001), died (CP1016) or ran out of time (CP0004)."""
    span = Span(path)
    if why.why == "died" and why.foreign:
        reason = f"{why.text} while libclang read it"
        return Diagnostic("CP1016", span, (("path", path), ("reason", reason)))
    if why.why == "timeout":
        seconds = fanout.FOREIGN_SECONDS if why.foreign else settings.unit_timeout
        return Diagnostic("CP0004", span, (("seconds", f"{seconds:g}"), ("what", f"reading {path}")))
    return Diagnostic("CP0001", span, (("what", why.text.strip().splitlines()[-1]),))


def _lost(run: Run, path: str, why: fanout.Lost) -> Ported:
    found = lost_reading(path, why, run.settings)
    status = {"CP0001": "CRASHED", "CP0004": "TIMEOUT"}.get(found.code)
    outcome = _problem(found)
    if status is not None:
        outcome = replace(outcome, status=status)
    return Ported(outcome, bug=why.text if status == "CRASHED" else "")


def _problem(d: Diagnostic) -> Outcome:
    """A problem with a path, not with one kernel."""
    return Outcome(d.span.path, "", "", "REFUSED", findings=(Finding.of(d),))


def unique(came: Iterable[Ported], parts: int) -> list[Ported]:
    """One per kernel instantiation, in the order of the sources.

    A header's kernel may be read in several parts: the reading that got through is kept, and a guessed
    instantiation only where no part saw a real one; kernels that one part lost and others read are not lost.
    What every part had to say for itself is kept once.
    """
    best: dict[tuple[str, int, str, str], Ported] = {}
    whole: dict[Finding, int] = {}
    for one in came:
        o = one.outcome
        codes = {f.code for f in o.findings}
        if not o.kernel and codes & _OF_THE_WHOLE:
            for f in o.findings:
                whole[replace(f, span=Span())] = whole.get(replace(f, span=Span()), 0) + 1
            continue
        key = (
            _real(one),
            o.line,
            o.kernel,
            o.instantiation or repr(sorted(codes)) * (not o.kernel),
        )
        if key not in best or one.rank < best[key].rank:
            best[key] = one
    seen = {k[:3] for k, p in best.items() if not p.guessed}
    kept = [p for k, p in best.items() if not (p.guessed and k[:3] in seen)]
    read = {(k[0], k[2]) for k in best}
    kept = [p for p in kept if not p.lost or {(_real(p), name) for name in p.lost} - read]
    kept += [Ported(Outcome("", "", "", "REFUSED", findings=(f,))) for f, n in whole.items() if n >= parts]
    return sorted(kept, key=lambda p: (p.outcome.source, p.outcome.line, p.outcome.name))


def _real(one: Ported) -> str:
    return str(Path(one.outcome.source).resolve())


def _write(run: Run) -> None:
    """Write what got through; every outcome goes to the report, in the order of the sources."""
    wanted = [p.outcome for p in run.ported if p.files]
    names = iter(folder_names([Wanted(o.kernel, o.instantiation, o.source, o.line) for o in wanted]))
    for one in run.ported:
        outcome = one.outcome
        if one.files:
            outcome = _written(one, run.settings.out / next(names), run.settings.force)
        run.report.outcomes.append(outcome)


def _written(one: Ported, folder: Path, force: bool) -> Outcome:
    try:
        kept = write_folder(folder, dict(one.files), force=force)
    except EditedError as edited:
        by = read_origin(folder)
        why = f"is no text of the compiler's, but of {by}" if by else "was edited since it was generated"
        hint = f"`cuteport verify {folder}` checks it; -o writes elsewhere, --force writes over it"
        return _unwritten(one.outcome, "CP0003", str(edited), why=why, hint=hint)
    except OSError as error:
        return _unwritten(one.outcome, "CP0002", str(folder), reason=error.strerror or type(error).__name__)
    notes = [Diagnostic("CP0006", Span(str(folder / k)), (("path", str(folder / k)),)) for k in sorted(kept)]
    return replace(one.outcome, out=str(folder), findings=(*one.outcome.findings, *map(Finding.of, notes)))


def _unwritten(outcome: Outcome, code: str, path: str, *, hint: str = "", **args: str) -> Outcome:
    made = Diagnostic(code, Span(path), tuple(sorted({"path": path, **args}.items())), hint)
    return replace(outcome, status="REFUSED", findings=(*outcome.findings, Finding.of(made)))
