"""Results and verdicts as what CI systems take: findings with a place, and test cases per stage."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from verify.check.model import Outcome, TargetResult
from verify.notes import in_words, warned
from verify.verdict import Remark, StageResult, Status, Verdict

Level = Literal["error", "warning", "note"]
_FINE = frozenset({Status.PASSED, Status.NOT_RUN, Status.COMPILED})


@dataclass(frozen=True, slots=True)
class Told:
    """One finding. `file` is as given to the command, "" for none; `line` from 1."""

    target: str
    code: str
    level: Level
    message: str
    file: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One test case. `state` skipped and error have a `message` too; `output` goes along with what passed."""

    name: str
    state: Literal["passed", "failure", "error", "skipped"]
    seconds: float = 0.0
    code: str = ""
    message: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """All cases of one target."""

    name: str
    cases: tuple[Case, ...]
    properties: dict[str, str] = field(default_factory=dict)


def findings_of(results: Sequence[TargetResult], fail_on: Collection[Outcome]) -> list[Told]:
    """What a check has to say, target by target; nothing for what is as recorded."""
    found: list[Told] = []
    for r in results:
        if r.outcome is Outcome.OK and r.code is None:
            continue
        level = _level(r, fail_on)
        place = r.file or str(Path(r.target) / "spec.toml")
        line = r.line or _first(place)
        found.append(Told(r.target, r.code or "", level, f"{r.outcome}: {r.message}", place, line))
        if r.verdict is not None:
            found += _seen(r.verdict)
    return found


def findings_of_verdicts(verdicts: Sequence[Verdict], remarks: Sequence[Remark] = ()) -> list[Told]:
    """What `verify` has to say: each stage that failed, what the emulator saw, and remarks that fail the run.
    A stage that was not run is no finding; the test cases tell of it."""
    found: list[Told] = []
    for v in verdicts:
        for s in v.stages:
            if s.code is not None and s.status not in _FINE:
                message = f"{s.stage}: {s.status}: {s.message}"
                place = str(Path(v.target) / "port.py")
                found.append(Told(v.target, s.code, "error", message, place, s.line or _first(place)))
        found += _seen(v)
    for r in remarks:
        if r.code is not None:
            place = str(Path(r.target) / "port.py")
            found.append(Told(r.target, r.code, "error", r.message, place, _first(place)))
    return found


def _first(place: str) -> int:
    """The line of a file that stands for the whole of it: that of a port's first kernel, otherwise 1. What
    has no line is shown by no code view."""
    try:
        text = Path(place).read_text(encoding="utf-8", errors="replace") if place.endswith(".py") else ""
    except OSError:
        text = ""
    kernel = re.search(r"^@cute\.kernel.*\n(?:@.*\n)*(?=def )", text, re.MULTILINE)
    return text.count("\n", 0, kernel.end()) + 1 if kernel else 1


def _level(r: TargetResult, fail_on: Collection[Outcome]) -> Level:
    if r.recorded or (r.outcome is Outcome.NEW and Outcome.NEW not in fail_on):
        return "note"
    return "error" if r.outcome in fail_on or r.outcome is Outcome.BROKEN else "warning"


def _seen(verdict: Verdict) -> Iterator[Told]:
    """Findings of the emulator, each at its line of the port or the original."""
    told: set[tuple[object, ...]] = set()
    for stage in verdict.stages:
        facts = stage.parity or stage.sanitize
        for f in facts.findings if facts is not None else ():
            if (key := (f.side, f.code, f.file, f.line, f.ptx)) in told:
                continue  # two stages may tell of the same
            told.add(key)
            file = _find(Path(verdict.target), f.file)
            message = f"{f.side}, case {f.case}: {in_words(f)}"
            level: Level = "error" if stage.status not in _FINE and stage.code == f.code else "note"
            if level == "note" and warned([f]):
                level = "warning"
            line = (f.line or _first(file)) if file else None
            yield Told(verdict.target, f.code, level, message, file, line)


def _find(target: Path, name: str) -> str:
    """The file of a target that a compiler called `name`."""
    if not name:
        return ""
    wanted = Path(name).name
    return next((str(p) for p in sorted(target.rglob(wanted))), "")


def suites_of(results: Sequence[TargetResult], fail_on: Collection[Outcome]) -> list[Suite]:
    """One suite per target of a check: its stages, and the comparison with its baseline."""
    return [Suite(r.target, tuple(_cases(r, fail_on)), _properties(r)) for r in results]


def suites_of_verdicts(verdicts: Sequence[Verdict], remarks: Sequence[Remark] = ()) -> list[Suite]:
    """One suite per target that `verify` judged."""
    low = {r.target: Case("mutants", "failure", code=r.code, message=r.message) for r in remarks if r.code}
    return [
        Suite(
            v.target,
            (*map(_stage, v.stages), *([low[v.target]] if v.target in low else [])),
            {"kernel": v.kernel, "status": v.status},
        )
        for v in verdicts
    ]


def _properties(r: TargetResult) -> dict[str, str]:
    found = {"kernel": r.kernel, "outcome": r.outcome.value, "values": r.values.how}
    if r.values.verified:
        found["values verified"] = r.values.verified
    for v in r.versions:
        found[f"version {v.name}"] = f"{v.before or 'absent'} -> {v.after or 'absent'}"
    return {name: text for name, text in found.items() if text}


def _cases(r: TargetResult, fail_on: Collection[Outcome]) -> Iterator[Case]:
    fails = (r.outcome in fail_on or r.outcome is Outcome.BROKEN) and not r.recorded
    if r.verdict is not None:
        yield from (_stage(s) for s in r.verdict.stages)
    elif r.port is not None:
        yield Case("compile", "passed", r.port.compile_seconds)
        if r.values.how == "none":
            yield Case("parity", "skipped", message=r.values.words)
        else:
            said = f"{r.values.words} ({r.values.source}, {r.values.verified})"
            yield Case("parity", "passed", output=said)
    if r.outcome is Outcome.BROKEN and r.verdict is not None:
        return  # the stage that failed says it
    name = "baseline" if r.verdict is not None or r.port is not None else "target"
    if fails:
        state: Literal["failure", "error"] = "error" if r.outcome is Outcome.UNPROVEN else "failure"
        yield Case(name, state, 0.0, r.code or "", r.message, "\n".join(_lines(r)))
    else:
        yield Case(name, "passed", output="\n".join([r.message, *_lines(r)]).strip())


def _lines(r: TargetResult) -> list[str]:
    lines = [c.words for c in r.changes]
    lines += [f"{v.name}: {v.before or 'absent'} -> {v.after or 'absent'}" for v in r.versions]
    return lines + list(r.notes)


def _stage(s: StageResult) -> Case:
    if s.status is Status.PASSED:
        return Case(s.stage, "passed", s.seconds, output=s.message)
    if s.status is Status.NOT_RUN:
        return Case(s.stage, "skipped", s.seconds, s.code or "", s.message)
    at = f" (port.py:{s.line})" if s.line else ""
    return Case(s.stage, "failure", s.seconds, s.code or "", f"{s.status}: {s.message}{at}")


def shown(file: str, root: Path | None = None) -> str:
    """A path as the repository knows it: relative to `root`, by default $GITHUB_WORKSPACE or the working
    folder; as it is where it lies elsewhere."""
    base = root or Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    place = Path(os.path.abspath(file))  # noqa: PTH100  a link's own name, not its target's
    for candidate in (base, base.resolve()):
        if place.is_relative_to(candidate):
            return place.relative_to(candidate).as_posix()
    return place.as_posix()
