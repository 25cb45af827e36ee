"""What compute-sanitizer writes, as findings: one for each place and kind of fault.

A report is a head and indented lines under it, each behind "=========". Seen with version 2025.3 (CUDA 13.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

Three = tuple[int, int, int]
OTHER = "CP8061"  # told by the tool, named by no other code

_MARK = "========="
_PLACE = re.compile(r"(?P<function>.+?)\+(?P<offset>0x[0-9a-f]+)(?: in (?P<file>.+):(?P<line>\d+))?$")
_WHO = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_ACCESS = re.compile(r"Invalid __(?P<space>\w+)__ (?P<what>.+) of size (?P<size>[\d,]+) bytes")
_UNSET = re.compile(r"Uninitialized __(?P<space>\w+)__ memory read of size (?P<size>[\d,]+) bytes")
_HAZARD = re.compile(
    r"(?:(?P<level>\w+): )?(?:\([^)]*\) ?)?Potential (?P<kind>\w+) hazard detected at __(?P<space>\w+)__ \S+ "
    r"in block \((\d+),\s?(\d+),\s?(\d+)\)"
)
_SIDE = re.compile(r"(?P<what>Read|Write|\w+) Thread \((\d+),\s?(\d+),\s?(\d+)\) at (?P<place>.+)")
_VALUES = re.compile(r"Current Value : (\d+), Incoming Value : (\d+)")
_BARRIER = re.compile(r"Barrier error detected\. (?P<what>.+)")
_NEAREST = re.compile(r"and is (?P<where>.+) the nearest allocation at \S+ of size (?P<size>[\d,]+) bytes")
# Heads that tell of no fault: the banner, the sums, and that there were more reports than it keeps.
_SILENT = re.compile(
    r"COMPUTE-SANITIZER|[A-Z]+ SUMMARY: |Warning: Error buffer overflow|\d+ errors were skipped"
)

_SPACES = {"global": "CP8001", "shared": "CP8002", "local": "CP8003"}
_UNSET_SPACES = {"global": "CP8006", "shared": "CP8005", "local": "CP8007"}
_HEADS = {"Warp assert": "CP8031", "Trace/breakpoint trap": "CP8032"}
# synccheck tells "in block" of right barriers too, where a part of the block waits at one of its own.
_BARRIERS = (("in warp", "CP8021"), ("in block", "CP8062"))
_HAZARDS = {
    "RAW": "a read after another thread's write",
    "WAR": "a write after another thread's read",
    "WAW": "a write after another thread's write",
}
_SAME = "CP8013"


class At(NamedTuple):
    """Where in the code: the file's name and line ("" and 0 without line information), the function and the
    offset in its machine code."""

    file: str
    line: int
    instruction: str


@dataclass(frozen=True, slots=True)
class Told:
    """One fault, told `count` times; of its threads the first in order, since reports come in any."""

    code: str
    message: str
    at: At
    thread: Three
    block: Three
    count: int


@dataclass(slots=True)
class Reports:
    """`told` in the order of the first of each place; `trouble` is what the tool says of itself."""

    told: list[Told] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)


def read_reports(text: str) -> Reports:
    """All reports of a text."""
    found = Reports()
    held: dict[tuple[str, At, object], Told] = {}
    for head, lines in _split(text):
        told = _told(head, lines)
        if told is None:
            if not _SILENT.match(head):
                found.trouble.append(" ".join([head, *lines]))
            continue
        # What differs from thread to thread is no other fault: the place and the other place are.
        key = (told.code, told.at, re.sub(r"thread \S+|\d+ bytes", "", told.message))
        old = held.get(key)
        held[key] = told if old is None else replace(min(old, told, key=_rank), count=old.count + 1)
    found.told = _without_doubles(list(held.values()))
    return found


def _split(text: str) -> Iterator[tuple[str, list[str]]]:
    head, lines = "", list[str]()
    for raw in text.splitlines():
        if not raw.startswith(_MARK):
            continue
        line = raw[len(_MARK) :]
        if line.strip() and not line.startswith("  "):
            if head:
                yield head, lines
            head, lines = line.strip(), []
        elif line.strip():
            lines.append(line.strip())
    if head:
        yield head, lines


def _told(head: str, lines: list[str]) -> Told | None:
    if hazard := _HAZARD.match(head):
        return _hazard(hazard, lines)
    at = next((_at(line[3:]) for line in lines if line.startswith("at ")), None)
    who = next((m for line in lines if (m := _WHO.match(line))), None)
    if at is None or who is None:
        return None  # of no kernel: an API call, or the tool itself
    numbers = [int(n) for n in who.groups()]
    thread, block = _three(numbers[:3]), _three(numbers[3:])
    code, words = _fault(head, lines)
    return Told(code, words, at, thread, block, 1)


def _fault(head: str, lines: list[str]) -> tuple[str, str]:
    if access := _ACCESS.match(head):
        words = f"{access['what']} of {access['size']} bytes of {access['space']} memory"
        if any("misaligned" in line for line in lines):
            return "CP8004", f"misaligned {words}"
        near = next((m for line in lines if (m := _NEAREST.match(line))), None)
        where = f", {near['where']} an allocation of {near['size']} bytes" if near else ""
        return _SPACES.get(access["space"], OTHER), f"{words} out of bounds{where}"
    if unset := _UNSET.match(head):
        words = f"read of {unset['size']} bytes of {unset['space']} memory that nothing wrote"
        return _UNSET_SPACES.get(unset["space"], OTHER), words
    if barrier := _BARRIER.match(head):
        code = next((c for part, c in _BARRIERS if part in barrier["what"]), OTHER)
        return code, f"barrier: {barrier['what'].rstrip('.').lower()}"
    return _HEADS.get(head, OTHER), head


def _hazard(head: re.Match[str], lines: list[str]) -> Told | None:
    sides = [m for line in lines if (m := _SIDE.match(line))]
    places = [_at(m["place"]) for m in sides]
    if len(sides) != 2 or None in places:
        return None
    first, second = (p for p in places if p is not None)
    x, y = (_three([int(n) for n in m.groups()[1:4]]) for m in sides)
    what = _HAZARDS.get(head["kind"], f"{head['kind']} hazard")
    words = f"race in {head['space']} memory, {what}: "
    words += f"{sides[0]['what'].lower()} by thread {_text(x)}, "
    words += f"{sides[1]['what'].lower()} by thread {_text(y)} at {_near(second)}"
    values = next((m for line in lines if (m := _VALUES.match(line))), None)
    same = head["kind"] == "WAW" and values is not None and values[1] == values[2]
    block = _three([int(n) for n in head.groups()[3:6]])
    return Told(_SAME if same else "CP8011", words, first, x, block, 1)


def _without_doubles(told: list[Told]) -> list[Told]:
    """Hazards are told byte by byte: where some bytes of two stores differ, the equal ones are no news."""
    real = {(t.at, _other(t)) for t in told if t.code == "CP8011"}
    return [t for t in told if t.code != _SAME or (t.at, _other(t)) not in real]


def _rank(told: Told) -> tuple[Three, Three]:
    return told.block[::-1], told.thread[::-1]


def _other(told: Told) -> str:
    return re.sub(r"thread \S+", "", told.message)


def _at(text: str) -> At | None:
    found = _PLACE.match(text)
    if found is None:
        return None
    return At(found["file"] or "", int(found["line"] or 0), f"{found['function']}+{found['offset']}")


def _near(at: At) -> str:
    return f"{at.file}:{at.line}" if at.line else at.instruction


def _three(numbers: list[int]) -> Three:
    x, y, z = numbers
    return x, y, z


def _text(who: Three) -> str:
    return f"({who[0]},{who[1]},{who[2]})"
