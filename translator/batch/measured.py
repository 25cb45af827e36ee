"""Completes drafted specs that ask how large a buffer is, or what it is used for: the emulator runs the
original and sees. Of a task it also says whether the original runs there at all."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from translator.analysis.spec_measured import (
    ALLOCATED,
    ASKING,
    ROLE,
    SIZES,
    Completion,
    asked_buffer,
    completed,
    known_to_write,
)
from translator.batch.judge import options_of
from translator.outcome import NOT_RUN, Outcome, Stage
from translator.output import MANIFEST, TASK, edited, sha256, write_file
from translator.settings import Settings

if TYPE_CHECKING:
    from verify.measure import CaseSeen

_SECONDS = 120.0  # per case; what a case may cost is bounded otherwise, so that all machines say the same


def measure_drafts(
    outcomes: list[Outcome], settings: Settings, tell: Callable[[str, int, int, str], None]
) -> None:
    """Answer what can be measured in the specs just written; an edited spec is left alone. Where values will
    not be compared, nobody waits for answers."""
    asking = [
        k
        for k, o in enumerate(outcomes)
        if o.out and (_is_task(o) or any(f.code in ASKING for f in o.findings))
        if "spec.toml" not in edited(Path(o.out))
    ]
    if not asking:
        return
    from verify.isolate import end_all
    from verify.where import choose, emulator_gap

    gap = emulator_gap()[1]
    if not gap and not (where := choose(options_of(settings))).runs:
        gap = f"values are not compared: {where.why}"
    if gap:
        for k in asking:
            stage = Stage("measure", NOT_RUN, why=gap)
            outcomes[k] = replace(outcomes[k], stages=(*outcomes[k].stages, stage))
            _say(outcomes[k], why=gap)
        return
    tell("measured", 0, len(asking), "")
    arch = settings.arch or "sm_90a"
    with ThreadPoolExecutor(settings.workers) as pool:
        found = [pool.submit(_measured, outcomes[k], arch) for k in asking]
        try:
            for done, (k, one) in enumerate(zip(asking, found, strict=True), 1):
                outcomes[k] = one.result()
                tell("measured", done, len(asking), Path(outcomes[k].out).name)
        except BaseException:
            for one in found:
                one.cancel()
            end_all()  # threads wait for their children
            raise


def _is_task(outcome: Outcome) -> bool:
    return outcome.status == "REFUSED"  # and has a folder


def _say(outcome: Outcome, **ran: object) -> None:
    """Write into a task how its original ran; of a port nothing is written."""
    if not _is_task(outcome):
        return
    from translator.task import Ran, TaskError, load_task, to_text

    folder = Path(outcome.out)
    with contextlib.suppress(TaskError, OSError):
        task = load_task(folder)
        write_file(folder / TASK, to_text(task.model_copy(update={"original": Ran.model_validate(ran)})))


@dataclass(frozen=True, slots=True)
class _Found:
    completions: Sequence[Completion]
    roles: dict[str, str]
    taken: set[str]
    seen: Sequence[CaseSeen]


def _measured(outcome: Outcome, arch: str) -> Outcome:
    """The outcome, its folder's spec completed. What could not be measured is told in the stage."""
    from verify.expr import ExprError
    from verify.sides import SideError
    from verify.spec_file import SpecError

    start = time.perf_counter()
    folder = Path(outcome.out)
    why = ""
    try:
        found = _ask(folder, arch)
        _write(folder, found)
    except SideError as e:
        why = f"{e.code} {e.message.splitlines()[0]}"
    except (SpecError, ExprError, OSError) as e:
        why = str(e).splitlines()[0]
    seconds = round(time.perf_counter() - start, 3)
    if why:
        _say(outcome, runs=False, why=why, seconds=seconds)
        return _with_stage(outcome, Stage("measure", NOT_RUN, why=why))
    ran = [s for s in found.seen if not s.fault]
    fault = next((f"{s.case}: {s.fault}" for s in found.seen if s.fault), "")
    _say(outcome, runs=bool(ran), why=fault, cases=len(ran), of=len(found.seen), seconds=seconds)
    findings = list(outcome.findings)
    for c in found.completions:
        for k, f in enumerate(findings):
            if f.code == c.code and asked_buffer(f.code, f.message, (c.buffer,)):
                findings[k] = replace(f, hint=c.note)
    stage = Stage("measure", "OK", time.perf_counter() - start)
    return _with_stage(replace(outcome, findings=tuple(findings)), stage)


def _with_stage(outcome: Outcome, stage: Stage) -> Outcome:
    return replace(outcome, stages=(*outcome.stages, stage), seconds=outcome.seconds + stage.seconds)


def _ask(folder: Path, arch: str) -> _Found:
    from verify.measure import measure, role_of, wider_roles
    from verify.spec_file import load_spec

    spec = load_spec(folder)
    buffers = [b.name for b in spec.buffers if not b.symbol]
    asked = [(q.code, b) for q in spec.open_questions if (b := asked_buffer(q.code, q.text, buffers))]
    seen = measure(folder, {b for code, b in asked if code in SIZES}, arch, _SECONDS)
    texts = {(q.code, asked_buffer(q.code, q.text, buffers)): q.text for q in spec.open_questions}
    made = []
    for code, buffer in asked:
        if code == ROLE:
            said, role = role_of(buffer, seen, known_to_write(texts[code, buffer]))
            made.append(Completion(code, buffer, said, role is not None, role=role or ""))
        else:
            made.append(_completion(code, buffer, seen))
    taken = {a.name for a in spec.arg} | {n for c in spec.case for n in c.sizes}
    return _Found(made, dict(wider_roles(spec, seen)), taken, seen)


def _completion(code: str, buffer: str, seen: Sequence[CaseSeen]) -> Completion:
    from verify.measure import extent

    e = extent(buffer, seen, generous=code != "CP3104")
    if code != ALLOCATED:
        return Completion(code, buffer, e.words, bool(e.elems), {} if e.kept else e.elems)
    touched = [(run[buffer].elems, s) for s in seen for run in s.runs if not run[buffer].spoilt]
    more = next(((n, s.case, s.drafted[buffer]) for n, s in touched if n > s.drafted[buffer]), None)
    if more is None:
        return Completion(code, buffer, e.words, e.kept)
    return Completion(code, buffer, "{} elements are touched in case {}, which has {}".format(*more), False)


def _write(folder: Path, found: _Found) -> None:
    """The completed spec; and its hash, so that it still counts as drafted."""
    from verify.spec_file import parse_spec

    path, manifest = folder / "spec.toml", folder / MANIFEST
    drafted = path.read_text(encoding="utf-8")
    loose = any(s.loose for s in found.seen) and (folder / TASK).exists()
    text = completed(drafted, found.completions, found.roles, found.taken, loose=loose)
    parse_spec(text, str(path))
    indent = None
    if not manifest.exists():
        manifest, indent = folder / TASK, 1
    known = json.loads(manifest.read_text(encoding="utf-8"))
    known["spec_sha256"] = sha256(text.encode())
    write_file(path, text)
    write_file(manifest, json.dumps(known, indent=indent, separators=None if indent else (",", ":")))
