"""What a child process does: read a part of the project and put each of its kernels through the pipeline."""

from __future__ import annotations

import os
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from translator.batch.fanout import foreign
from translator.diag.diagnostic import Diagnostic, Sink
from translator.frontend.inputs import Inputs, ReadOptions
from translator.model.dump import dump_model
from translator.model.kernel import KernelModel
from translator.outcome import NOT_RUN, Finding, Outcome, Stage
from translator.output import Wanted, file_safe, folder_names, line_map

if TYPE_CHECKING:
    from translator.emit import Draft
    from translator.frontend.project import KernelReading
    from translator.pipeline import Translation


@dataclass(frozen=True, slots=True)
class Part:
    """One task: translation units that belong together.

    `keep` is the run folder for the stages' files; `census` asks for the constructs instead of the files,
    `tasks` for task folders of the kernels that are refused.
    """

    inputs: Inputs
    options: ReadOptions
    keep: Path | None = None
    census: bool = False
    tasks: bool = False


@dataclass(frozen=True, slots=True)
class Ported:
    """What comes back for one kernel, or for a file without one: its outcome so far.

    `files` is its folder (name, content) if it got through, or that of its task; `bug` a traceback if
    cuteport failed on it; `guessed` says that the template's arguments were not seen anywhere.
    """

    outcome: Outcome
    files: tuple[tuple[str, str | bytes], ...] = ()
    bug: str = ""
    guessed: bool = False
    lines: int = 0
    constructs: tuple[tuple[str, int], ...] = ()
    tier: int = 0  # 0 where no model could be made
    lost: tuple[str, ...] = ()  # kernels that this part's parser did not come to

    @property
    def rank(self) -> tuple[bool, int]:
        """Lower is the better reading of one kernel."""
        return self.outcome.status != NOT_RUN, sum(f.severity == "error" for f in self.outcome.findings)


def translate_part(part: Part) -> list[Ported]:
    """Every kernel of one part. Whatever happens to a kernel, the next one has its turn."""
    from translator.frontend.clang import watch_by
    from translator.frontend.project import read_units

    watch_by(lambda begins: foreign(begins=begins))
    os.environ["LIBCLANG_NOTHREADS"] = "1"  # its own threads have small stacks; this one's is deep
    sink = Sink()
    readings = read_units(part.inputs, part.options, sink)
    found = [_said(d) for d in sink.items if d.refuses or d.code == "CP1015"]
    notes = tuple(Finding.of(d) for d in sink.items if not d.refuses)
    return found + [_translate(reading, notes, part) for reading in readings]


def _said(d: Diagnostic) -> Ported:
    """What the reading said of a file, or of a template of which it found no instantiation."""
    template = dict(d.args)["kernel"].rpartition("::")[2] if d.code == "CP1011" else ""
    line = d.span.line if template else 0
    # as with a guess, an instantiation that another part saw stands for it
    return Ported(
        Outcome(d.span.path, template, "", "REFUSED", line=line, findings=(Finding.of(d),)),
        guessed=bool(template),
        lost=tuple(dict(d.args)["names"].split()) if d.code == "CP1019" else (),
    )


def _translate(reading: KernelReading, notes: tuple[Finding, ...], part: Part) -> Ported:
    from translator.pipeline import translate

    start = time.perf_counter()
    sink, stages = Sink(list(reading.diagnostics)), list[Stage]()
    made, bug = None, ""
    watcher = _Watcher(_stage_folder(part.keep, reading), part.census)
    try:
        level = part.options.opt_level
        made = translate(reading, sink, stages, watcher, written=not part.census, opt_level=level)
    except RecursionError:
        sink.report("CP0005", reading.span)
    except OSError as error:
        sink.report("CP0002", path=error.filename or "a stage's file", reason=error.strerror)
    except Exception as error:
        sink.report("CP0001", reading.span, what=f"{type(error).__name__}: {error}".splitlines()[0])
        bug = traceback.format_exc()
    files = _files(made) if made and not part.census else ()
    if part.tasks and made is None and not bug:
        files, bug = _task(reading, watcher, sink, stages, part)
    own = tuple(f for f in notes if f.span.path == reading.path)
    outcome = Outcome(
        source=reading.path,
        kernel=reading.name,
        instantiation=reading.instantiation,
        status="CRASHED" if bug else NOT_RUN if made else "REFUSED",
        line=reading.span.line,
        findings=(*own, *(Finding.of(d) for d in sink.items)),
        stages=tuple(stages),
        seconds=time.perf_counter() - start,
    )
    guessed = any(d.code == "CP1010" for d in reading.diagnostics)
    lines = max(0, reading.span.end_line - reading.span.line + 1) if reading.span.line else 0
    return Ported(outcome, files, bug, guessed, lines, watcher.constructs, watcher.tier)


class _Watcher:
    """Sees what each stage makes: leaves it in the run folder, counts the model's constructs, where asked."""

    def __init__(self, keep: Path | None, census: bool) -> None:
        self.keep = keep
        self.census = census
        self.constructs: tuple[tuple[str, int], ...] = ()
        self.tier = 0
        self.made: dict[str, KernelModel | Draft | str] = {}

    def __call__(self, stage: str, made: KernelModel | Draft | str) -> None:
        self.made[stage] = made
        if self.census and stage == "model" and isinstance(made, KernelModel):
            from translator.analysis.constructs import census, tier

            counted = census(made)
            self.constructs, self.tier = tuple(counted.items()), tier(counted)
        if self.keep is not None:
            if isinstance(made, KernelModel):
                text = dump_model(made)
            else:
                text = made if isinstance(made, str) else made.source
            (self.keep / _STAGE_FILES[stage]).write_text(text, encoding="utf-8", errors="surrogateescape")


def _task(
    reading: KernelReading, watcher: _Watcher, sink: Sink, stages: list[Stage], part: Part
) -> tuple[tuple[tuple[str, str | bytes], ...], str]:
    """The task folder of a refused kernel, and the traceback of a bug; what it can't have is told."""
    from translator.batch.task_folder import task_files

    start = time.perf_counter()
    refused = [d for d in sink.items if d.severity == "error"]
    asked, bug, why = Sink(), "", ""
    files: tuple[tuple[str, str | bytes], ...] = ()
    try:
        files = task_files(reading, watcher.made, refused, stages[-1].name, asked, part.options.opt_level)
    except RecursionError:
        why = "nested too deeply"
    except OSError as error:
        why = error.strerror or type(error).__name__
    except Exception as error:
        why, bug = f"internal error: {type(error).__name__}", traceback.format_exc()
    if why:
        sink.report("CP1190", reading.span, kernel=reading.name, reason=why)
    else:
        known = set(sink.items)
        sink.items += [d for d in asked.items if d not in known]
    stages.append(Stage("task", "NOT_RUN" if why else "OK", time.perf_counter() - start, why))
    return files, bug


_STAGE_FILES = {
    "model": "10-model.txt",
    "passes": "20-lowered.txt",
    "emit": "30-draft.py",
    "spec": "40-spec.toml",
}


def _stage_folder(keep: Path | None, reading: KernelReading) -> Path | None:
    if keep is None:
        return None
    line = reading.span.line
    name = folder_names([Wanted(reading.name, reading.instantiation, reading.path, line)])[0]
    folder = keep / f"{file_safe(Path(reading.path).stem)}-{line}-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _files(made: Translation) -> tuple[tuple[str, str | bytes], ...]:
    """The folder of a port, but for `verdict.json`, which `verify` writes."""
    from translator.frontend.slice_lines import author_name

    path = Path(made.model.source.path)
    draft = made.draft
    return (
        (f"original/{author_name(path.name)}", path.read_bytes()),
        ("original/device.cu", made.model.device_slice),
        ("spec.toml", made.spec),
        (
            "line_map.json",
            line_map(draft.entry, draft.line_map, dict(draft.renames), draft.source, made.spec),
        ),
        ("port.py", draft.source),
    )
