"""From what is known of one target to its result: the outcome, its code, and where to point."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from verify.check import compare
from verify.check.baseline import Proof, Recorded, elsewhere
from verify.check.compare import Now
from verify.check.model import MEANINGS, Change, Outcome, TargetResult, Values
from verify.exits import LACKING
from verify.spec import Spec
from verify.verdict import StageResult, Status, Verdict

_TOLD = 4  # changes in a message; all are in the document
_UNPROVEN = frozenset({Status.COMPILED, Status.NOT_RUN})


@dataclass(frozen=True, slots=True)
class Known:
    """A target before it is judged. `damage` says why its baseline can't be used, `place` is its file."""

    target: Path
    spec: Spec
    inputs: str
    place: Path
    recorded: Recorded | None
    damage: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found out about it in this run. `why` says why values were not compared."""

    now: Now
    values: Values
    verdict: Verdict | None = None
    seconds: float = 0.0
    why: str = ""
    notes: tuple[str, ...] = field(default=())


def missing(target: Path, message: str) -> TargetResult:
    """The result of a folder that is not there."""
    none = Values(how="none", words="not compared: there is no such target")
    return TargetResult(
        target=str(target),
        outcome=Outcome.MISSING,
        code=MEANINGS[Outcome.MISSING][0],
        message=message,
        values=none,
    )


def unusable(target: Path, problems: list[str], inputs: str = "") -> TargetResult:
    """The result of a target whose spec can't be used."""
    at = re.match(rf"{re.escape(str(target / 'spec.toml'))}:(\d+):", problems[0])
    return TargetResult(
        target=str(target),
        outcome=Outcome.BROKEN,
        code="CP6001",
        message="\n".join(problems),
        file=str(target / "spec.toml"),
        line=int(at.group(1)) if at else 1,
        values=Values(how="none", words="not compared: the spec can't be used"),
        inputs=inputs,
    )


def judge(known: Known, seen: Seen) -> TargetResult:
    """The result of a target, as it would be without --record."""
    target, notes = known.target, list(seen.notes)
    changes: list[Change] = []
    versions = []
    baseline = ""
    if known.recorded is not None:
        baseline = str(known.place)
        changes = compare.changes(known.recorded, seen.now)
        versions = compare.versions(known.recorded, seen.now)
    elif not known.damage and (other := elsewhere(target, known.place, seen.now.arch)) is not None:
        changes = compare.changes(other[1], seen.now, own=False)
        versions = compare.versions(other[1], seen.now)
        notes.append(f"no baseline of this device: PTX and resources compared with {other[0].name}")
    if known.damage:
        notes.append(known.damage)
    outcome, code, message = _outcome(known, seen, changes)
    file, line = _place(known, seen.verdict, outcome)
    verdict = seen.verdict
    return TargetResult(
        target=str(target),
        kernel=known.spec.original.kernel,
        outcome=outcome,
        code=code,
        message=message,
        file=file,
        line=line,
        changes=changes,
        versions=versions,
        baseline=baseline,
        notes=notes,
        values=seen.values,
        port=None if verdict else seen.now.sides.get("port"),
        original=None if verdict else seen.now.sides.get("original"),
        verdict=verdict,
        seconds=round(seen.seconds, 3),
        inputs=known.inputs,
    )


def _failed(verdict: Verdict) -> StageResult | None:
    return next((s for s in verdict.stages if s.status is verdict.status and s.code is not None), None)


def _outcome(known: Known, seen: Seen, changes: list[Change]) -> tuple[Outcome, str | None, str]:
    found = _found(known, seen, changes)
    if known.damage and found[0] is not Outcome.BROKEN:
        return Outcome.UNREADABLE, MEANINGS[Outcome.UNREADABLE][0], known.damage
    return found


def _found(known: Known, seen: Seen, changes: list[Change]) -> tuple[Outcome, str | None, str]:
    verdict = seen.verdict
    if verdict is not None and verdict.status is not Status.PASSED:
        failed = _failed(verdict)
        if verdict.status in _UNPROVEN:
            own = next((s.code for s in verdict.stages if s.code in LACKING), None)
            return Outcome.UNPROVEN, own or MEANINGS[Outcome.UNPROVEN][0], _with(verdict.proven, changes)
        outcome = Outcome.SLOWER if verdict.status is Status.SLOWER else Outcome.BROKEN
        assert failed is not None
        return outcome, failed.code, f"{failed.stage}: {failed.status}: {failed.message or verdict.proven}"
    if seen.values.how == "none":
        return Outcome.UNPROVEN, MEANINGS[Outcome.UNPROVEN][0], _with(seen.why, changes)
    late = compare.slower(changes)
    real = [c for c in changes if compare.matters(c)]
    sources = [c for c in real if c.kind == "source"]
    if late is not None:
        outcome, message = Outcome.SLOWER, late.words
    elif known.recorded is None:
        outcome, message = Outcome.NEW, f"no {known.place.parent.name}/{known.place.name}; --record writes it"
    elif sources:
        outcome, message = Outcome.STALE, _told(real)
    elif real:
        outcome, message = Outcome.CHANGED, _told(real)
    else:
        return Outcome.OK, None, ""
    return outcome, MEANINGS[outcome][0], message


def _told(changes: list[Change]) -> str:
    words = [c.words for c in changes]
    more = len(words) - _TOLD
    return "; ".join(words[:_TOLD]) + (f"; and {more} more" if more > 0 else "")


def _with(why: str, changes: list[Change]) -> str:
    real = [c for c in changes if compare.matters(c)]
    return f"{why or 'not compared'}; " + (_told(real) if real else "what was compiled is as recorded")


def _place(known: Known, verdict: Verdict | None, outcome: Outcome) -> tuple[str, int | None]:
    """The file that a finding points to: the port, with its line where one is known."""
    if outcome is Outcome.OK:
        return "", None
    if outcome is Outcome.UNREADABLE:
        return str(known.place), None
    line = None
    if verdict is not None and (failed := _failed(verdict)) is not None:
        line = failed.line
    return str(known.target / known.spec.port.module), line


def now_of(verdict: Verdict, base: Now, proof: Proof | None) -> Now:
    """`base` with what a verdict found."""
    compiled, parity, bench = (verdict.stage(s) for s in ("compile", "parity", "bench"))
    sides = dict(base.sides)
    if compiled is not None and compiled.compile is not None:
        sides["port"] = compiled.compile
    facts = parity.parity if parity is not None else None
    if facts is not None and facts.original is not None:
        sides["original"] = facts.original
    varies = (
        facts is not None and facts.device == "gpu" and (facts.order_dependent or not facts.deterministic)
    )
    timed = bench.bench if bench is not None else None
    return replace(base, sides=sides, proof=proof, bench=timed, varies=varies)
