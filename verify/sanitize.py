"""The sanitize stage: which cases its tools run, and what their findings mean for the port.

A port answers for what the original does not do too: a fault that both have is the original's, and where only
the original has one, the verdict tells it and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from verify.facts import FindingFacts, SanitizeFacts, ToolFacts
from verify.findings import gravest, status_of_finding
from verify.notes import in_words
from verify.plan import HELD_OUT
from verify.resolve import Resolved, resolve
from verify.sanitizer_reports import Three, Told
from verify.spec import Case, Spec
from verify.verdict import StageResult, Status

# Threads and elements of a case, together. Tools record each access: a block-wide product of 2^17 results
# took 0.8 s under the slowest of them on an H200.
_MOST_WORK = 1 << 24
_NOT_RUN = ("skipped", "too large", "a grid side is 0")  # notes of parity's runs that launched nothing


@dataclass(slots=True)
class Checked:
    """What one tool said of one side; `slow` is the case that it took too long for, and how long."""

    facts: ToolFacts
    findings: list[FindingFacts] = field(default_factory=list)
    slow: dict[str, str] = field(default_factory=dict)


def chosen_cases(spec: Spec, names: Sequence[str]) -> tuple[list[Case], dict[str, str]]:
    """The boundary cases and the smallest typical one, small ones first; of the others why not. `names` empty
    means all."""
    left_out: dict[str, str] = {}
    chosen: list[tuple[int, Case]] = []
    typical: list[tuple[int, Case]] = []
    for case in spec.case:
        if names and case.name not in names:
            continue
        resolved = resolve(spec, case)
        work = resolved.threads + sum(resolved.elems.values())
        if not resolved.launchable:
            left_out[case.name] = "a grid side is 0: nothing is launched"
        elif case.role == "large" or work > _MOST_WORK:
            left_out[case.name] = (
                f"too large for tools that record each access: {resolved.threads} threads, "
                f"{sum(resolved.elems.values())} elements"
            )
        else:
            (typical if case.role == "typical" else chosen).append((work, case))
    typical.sort(key=lambda row: row[0])
    for _, case in typical[1:]:
        left_out[case.name] = f"{typical[0][1].name} stands for the typical cases"
    return [c for _, c in sorted(chosen + typical[:1], key=lambda row: row[0])], left_out


def findings_of(told: Iterable[Told], facts: ToolFacts, case: str, resolved: Resolved) -> list[FindingFacts]:
    """Reports of compute-sanitizer as findings; threads and blocks become linear indices."""
    return [
        FindingFacts(
            side=facts.side,
            code=t.code,
            message=f"{facts.name}: {t.message}",
            case=case,
            file=t.at.file,
            line=t.at.line,
            ptx=t.at.instruction,
            count=t.count,
            block=_linear(t.block, resolved.grid),
            thread=_linear(t.thread, resolved.block),
        )
        for t in told
    ]


def _linear(place: Three, size: Three) -> int:
    return place[0] + size[0] * (place[1] + size[1] * place[2])


def judge(
    target: Path, checked: Sequence[Checked], left_out: dict[str, str], seconds: float = 0.0
) -> StageResult:
    """The stage's result from what every tool said of both sides."""
    suspect = {f.code for c in checked if c.facts.side == "original" for f in c.findings}
    found = [
        f.model_copy(update={"inherited": f.side == "port" and f.code in suspect})
        for c in checked
        for f in c.findings
    ]
    result = StageResult(
        stage="sanitize",
        target=str(target),
        status=Status.PASSED,
        seconds=round(seconds, 3),
        sanitize=SanitizeFacts(
            tools=[c.facts for c in checked], findings=found, left_out=left_out | _slow(checked)
        ),
    )
    own = gravest(f for f in found if f.side == "port" and not f.inherited)
    both = gravest(f for f in found if f.inherited)
    original = gravest(f for f in found if f.side == "original")
    port = [c.facts for c in checked if c.facts.side == "port"]
    needed = _needed(port)
    why = [f"{f.name}: {f.why}" for f in needed if f.why]
    if own is not None:
        return _with(result, status_of_finding(own), own.code, _told(own), own)
    if both is not None:
        words = f"the original does it, and so does the port: {_told(both)}"
        return _with(result, Status.ORIGINAL_SUSPECT, both.code, words, both)
    if why:
        return _with(result, Status.NOT_RUN, "CP9012", "; ".join(why))
    if not any(f.cases for f in needed):
        words = "; ".join(f"{n}: {w}" for n, w in left_out.items()) or "the spec has none"
        return _with(result, Status.NOT_RUN, "CP9012", f"no case for it: {words}")
    if original is not None:
        words = f"the original alone: {original.code} {_told(original)}"
        return result.model_copy(update={"message": words})
    idle = [f"{f.name}: {f.why}" for f in port if f.why]
    return result.model_copy(update={"message": f"not run: {'; '.join(idle)}"}) if idle else result


def _needed(port: Sequence[ToolFacts]) -> list[ToolFacts]:
    """The tools that must have run: those of compute-sanitizer, unless none of them works here and the
    emulator does. The emulator may have nothing to say of a kernel that it does not know."""
    tools = [f for f in port if f.name != "emulator"]
    emulator = [f for f in port if f.name == "emulator"]
    stands_in = any(f.cases for f in emulator) and not any(f.cases for f in tools)
    return emulator if stands_in or not tools else tools


def _slow(checked: Sequence[Checked]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for c in checked:
        for case, why in c.slow.items():
            found.setdefault(case, []).append(f"{c.facts.name} of the {c.facts.side}: {why}")
    return {case: "; ".join(words) for case, words in found.items()}


def _with(
    result: StageResult, status: Status, code: str, words: str, at: FindingFacts | None = None
) -> StageResult:
    line = at.line if at is not None and at.side == "port" and at.file.endswith(".py") and at.line else None
    return result.model_copy(update={"status": status, "code": code, "message": words, "line": line})


def _told(found: FindingFacts) -> str:
    return f"case {found.case}, {found.side}: {in_words(found)}"


def of_emulated_parity(parity: StageResult) -> StageResult:
    """The stage where parity ran in the emulator and passed: its checks ran with it, on every case, and what
    is no mere note would have ended it."""
    assert parity.parity is not None
    facts = parity.parity
    ran = list(dict.fromkeys(r.case for r in facts.runs if not r.note.startswith(_NOT_RUN)))
    checked = [
        Checked(
            ToolFacts(
                name="emulator",
                side=side,
                cases=ran,
                findings=sum(f.side == side for f in facts.findings),
                seconds=0.0,
            )
        )
        for side in ("original", "port")
    ]
    # A case that verify made up itself, and the original is not for, is no gap.
    left_out = {r.case: r.note for r in facts.runs if r.case not in ran and not r.case.startswith(HELD_OUT)}
    return judge(Path(parity.target), checked, left_out)
