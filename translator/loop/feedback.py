"""What is wrong with a candidate, as the one exact thing that the next turn is about.

Reads the verdict; the words are the prompts'. Lines are those of the candidate, with their text, and of the
CUDA source where the candidate says what it was written from (`# CUDA: file:line`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from translator.loop.judged import Judged
from translator.prompts.brief import Times
from translator.prompts.feedback import (
    CompileError,
    Crashed,
    DiffRow,
    Feedback,
    LaunchError,
    MemoryFault,
    Passed,
    Place,
    SanitizerReport,
    StaticFinding,
    StaticFindings,
    TimedOut,
    TooSlow,
    UnknownName,
    UnknownNames,
    Writer,
    WrongValues,
)
from verify.algorithm import AlgorithmDiff, shown
from verify.facts import BenchFacts, Difference, FindingFacts, WriterFacts
from verify.verdict import StageResult, Status, Verdict

_PORT = "port.py"
_FROM = re.compile(r"# CUDA: \S*?([\w.+-]+\.\w+):(\d+)")
_CASE = re.compile(r"\bcase ([^,;:]+)")
_FOLDER = re.compile(r"[^\s'\"(]*/(?=port\.py\b)")
_SECONDS = re.compile(r"([\d.]+) s\b")
_MOST_NAMES = 12
_MOST_TEXT = 1500  # characters of a compiler's message


def told(judged: Judged, cuda: Sequence[str]) -> list[Feedback]:
    """The faults of a candidate, gravest first; `cuda` are the lines of the device source. Empty where it
    passed, or where nothing was judged."""
    lines = judged.source.splitlines()
    if judged.unknown:
        found = judged.unknown[:_MOST_NAMES]
        names = tuple(UnknownName(u.name, u.line, u.what, u.nearest, _line(lines, u.line)) for u in found)
        return [UnknownNames(names)]
    stage = judged.failed
    if stage is None:
        return []
    if stage.stage == "static":
        line = stage.line or 0
        found_by = StaticFinding(stage.code or "", line, stage.message, _line(lines, line))
        return [StaticFindings((found_by,))]
    if stage.stage == "compile" and stage.status is Status.COMPILE_ERROR:
        place = _port(lines, stage.line)
        return [CompileError(stage.code or "", _cut(stage.message), place, _origin(lines, stage.line, cuda))]
    if judged.gap is not None:
        said = f"it compiles, but its values can't be compared on this machine: {_cut(stage.message)}"
        return [LaunchError(stage.code or "", said, _case(stage))]
    if stage.status is Status.TIMEOUT:
        seconds = _SECONDS.search(stage.message)
        return [TimedOut(stage.code or "", stage.stage, float(seconds[1]) if seconds else 0.0, _case(stage))]
    if judged.wrong is not None:
        return [_values(stage, judged.wrong, lines, cuda)]
    if judged.fault is not None:
        return [_fault(stage, judged.fault, lines, cuda)]
    if stage.status is Status.SANITIZER:
        place = _port(lines, stage.line)
        return [
            SanitizerReport("compute-sanitizer", stage.code or "", _cut(stage.message), _case(stage), place)
        ]
    if stage.status is Status.SLOWER and stage.bench is not None:
        rows = _rows(judged.verdict.algorithm if judged.verdict is not None else None)
        return [TooSlow(stage.code or "", _times(stage.bench)[0], stage.bench.ratio, rows)]
    if stage.status is Status.LAUNCH_ERROR:
        return [LaunchError(stage.code or "", _cut(stage.message), _case(stage))]
    return [Crashed(stage.code or "", stage.stage, _cut(stage.message), _case(stage))]


def passed(verdict: Verdict) -> Passed:
    """That it is right, its times where it was timed, and how its code differs from the original's."""
    return Passed(times_of(verdict), _rows(verdict.algorithm))


def times_of(verdict: Verdict) -> tuple[Times, ...]:
    """Times of every case that was timed; empty where none was."""
    stage = verdict.stage("bench")
    return _times(stage.bench) if stage is not None and stage.bench is not None else ()


def _times(bench: BenchFacts) -> tuple[Times, ...]:
    return tuple(
        Times(
            b.case, b.port.median_us, b.original.median_us, b.floor.floor_us if b.floor is not None else None
        )
        for b in (bench, *bench.also)
    )


def _rows(diff: AlgorithmDiff | None) -> tuple[DiffRow, ...]:
    rows = diff.telling if diff is not None else []
    return tuple(DiffRow(r.name, shown(r.original), shown(r.port), r.telling) for r in rows)


def _values(stage: StageResult, wrong: Difference, lines: Sequence[str], cuda: Sequence[str]) -> WrongValues:
    runs = stage.parity.runs if stage.parity is not None else []
    case = _case(stage) or (runs[-1].case if runs else "")
    before = dict.fromkeys(r.case for r in runs if r.case != case)
    return WrongValues(
        code=stage.code or "",
        message=_cut(stage.message),
        output=wrong.output,
        index=wrong.first_bad or 0,
        port_value=wrong.port_value or "?",
        original_value=wrong.original_value or "?",
        count=wrong.bad,
        elements=wrong.elements,
        case=case,
        values=next((r.kind for r in runs if r.case == case), ""),
        limit=wrong.limit,
        passed=tuple(before),
        port=_writer(wrong.port_writer, lines),
        original=_writer(wrong.original_writer, cuda),
    )


def _writer(facts: WriterFacts | None, lines: Sequence[str]) -> Writer | None:
    if facts is None:
        return None
    place = Place(facts.file, facts.line, _line(lines, facts.line)) if facts.line else None
    return Writer(facts.block, facts.thread, place)


def _fault(stage: StageResult, fault: FindingFacts, lines: Sequence[str], cuda: Sequence[str]) -> MemoryFault:
    return MemoryFault(
        code=fault.code,
        message=_cut(stage.message),
        case=fault.case,
        block=fault.block,
        thread=fault.thread,
        first=Place(fault.file or _PORT, fault.line, _line(lines, fault.line)),
        cuda=_origin(lines, fault.line, cuda),
        instruction=fault.ptx,
        count=fault.count,
    )


def _port(lines: Sequence[str], line: int | None) -> Place | None:
    return Place(_PORT, line, _line(lines, line)) if line else None


def _origin(lines: Sequence[str], line: int | None, cuda: Sequence[str]) -> Place | None:
    """The CUDA line that the nearest comment above says."""
    for text in reversed(lines[: line or 0]):
        if found := _FROM.search(text):
            number = int(found[2])
            return Place(found[1], number, _line(cuda, number) if found[1] == "device.cu" else "")
    return None


def _line(lines: Sequence[str], line: int) -> str:
    return lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""


def _case(stage: StageResult) -> str:
    found = _CASE.search(stage.message)
    return found[1].strip() if found else ""


def _cut(message: str) -> str:
    text = _FOLDER.sub("", message.strip())  # where the candidate lies is nobody's business
    return text if len(text) <= _MOST_TEXT else text[:_MOST_TEXT] + " …"
