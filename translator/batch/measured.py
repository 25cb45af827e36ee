"""Completes drafted specs that ask how large a buffer is: the emulator runs the original and sees."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from translator.analysis.spec_measured import ALLOCATED, ASKING, Completion, asked_buffer, completed
from translator.batch.judge import options_of
from translator.outcome import NOT_RUN, Outcome, Stage
from translator.output import MANIFEST, edited, sha256, write_file
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
        if o.out and any(f.code in ASKING for f in o.findings) and "spec.toml" not in edited(Path(o.out))
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


@dataclass(frozen=True, slots=True)
class _Found:
    completions: Sequence[Completion]
    roles: dict[str, str]
    taken: set[str]


def _measured(outcome: Outcome, arch: str) -> Outcome:
    """The outcome, its folder's spec completed. What could not be measured is told in the stage."""
    from verify.expr import ExprError
    from verify.sides import SideError
    from verify.spec_file import SpecError

    start = time.perf_counter()
    folder = Path(outcome.out)
    try:
        found = _ask(folder, arch)
        _write(folder, found)
    except SideError as e:
        return _with_stage(outcome, Stage("measure", NOT_RUN, why=f"{e.code} {e.message.splitlines()[0]}"))
    except (SpecError, ExprError, OSError) as e:
        return _with_stage(outcome, Stage("measure", NOT_RUN, why=str(e).splitlines()[0]))
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
    from verify.measure import measure, wider_roles
    from verify.spec_file import load_spec

    spec = load_spec(folder)
    buffers = [b.name for b in spec.buffers if not b.symbol]
    asked = [(q.code, b) for q in spec.open_questions if (b := asked_buffer(q.code, q.text, buffers))]
    seen = measure(folder, {b for _, b in asked}, arch, _SECONDS)
    made = []
    for code, buffer in asked:
        made.append(_completion(code, buffer, seen))
    taken = {a.name for a in spec.arg} | {n for c in spec.case for n in c.sizes}
    return _Found(made, dict(wider_roles(spec, seen)), taken)


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
    text = completed(path.read_text(encoding="utf-8"), found.completions, found.roles, found.taken)
    parse_spec(text, str(path))
    known = json.loads(manifest.read_text(encoding="utf-8"))
    known["spec_sha256"] = sha256(text.encode())
    write_file(path, text)
    write_file(manifest, json.dumps(known, indent=None, separators=(",", ":")))
