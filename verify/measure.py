"""How many elements of its buffers an original touches, measured in the emulator; what follows from that."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Literal

from verify.extrapolate import law
from verify.original_side import build_original
from verify.plan import too_large
from verify.resolve import Resolved, resolve
from verify.sides import EMULATED_ORIGINAL, ChildSide
from verify.spec import Spec
from verify.spec_args import Role
from verify.spec_file import load_spec

Seen = Literal["in", "out", "inout", "unused"]
_ROLES: tuple[Seen, ...] = ("in", "out", "inout", "unused")
_BUDGET = "CP8041"
_LONG = "too many instructions for the emulator"
_LEAST = 3  # cases that a drafted size must be right in, if there are as many
_KINDS = ("with the drafted inputs", "with zeros")


@dataclass(frozen=True, slots=True)
class Touch:
    """What one launch did to one buffer. `elems` ends after the last element touched; `left` says how the
    kernel went beyond what can be followed, `spoilt` what makes the whole launch useless; or they are ""."""

    elems: int
    role: Seen
    left: str = ""
    spoilt: str = ""


@dataclass(frozen=True, slots=True)
class CaseSeen:
    """One case: `runs` are its launches, on the drafted inputs and on zeros; none where `why` says why.
    `loose`: floats are summed by atomics, in the order of the threads. `launched` counts blocks and threads.
    """

    case: str
    sizes: Mapping[str, int]
    drafted: Mapping[str, int]  # elements of each buffer
    runs: tuple[Mapping[str, Touch], ...] = ()
    why: str = ""
    loose: bool = False
    launched: Mapping[str, int] = field(default_factory=dict)

    @property
    def fault(self) -> str:
        """Why nothing of it counts; empty where it ran."""
        return self.why or next((t.spoilt for run in self.runs for t in run.values() if t.spoilt), "")


@dataclass(frozen=True, slots=True)
class Extent:
    """What is known of one buffer: elements in each case, or empty where nothing is certain; `kept` where the
    drafted size is right. `words` say what was seen."""

    words: str
    elems: Mapping[str, int]
    kept: bool = False


def measure(target: Path, asked: Collection[str], arch: str, timeout: float) -> list[CaseSeen]:
    """Run the original of a target on each of its cases; the buffers `asked` grow as it needs. SideError
    where it can't be built or run at all, SpecError where there is no usable spec."""
    spec, place = load_spec(target), str(target.resolve())
    with (
        tempfile.TemporaryDirectory(prefix="cuteport-measure-") as folder,
        closing(ChildSide(EMULATED_ORIGINAL, {}, arch, timeout)) as side,
    ):
        # With lines, as parity builds it: what is compiled for the emulator here is used again there.
        built = build_original(side, place, arch, Path(folder), lines=True)
        side.reload({"target": place, "ptx": str(Path(folder) / "ptx.lines"), "names": built.names})
        seen: list[CaseSeen] = []
        for r in sorted((resolve(spec, c) for c in spec.case), key=_work):
            if seen and seen[-1].why == _LONG:  # so are the larger ones
                seen.append(CaseSeen(r.case.name, r.case.sizes, r.elems, why=_LONG))
            else:
                seen.append(_case(spec, r, asked, side, timeout))
            seen[-1] = replace(seen[-1], launched={"blocks": prod(r.grid), "threads": r.threads})
        return seen


def _work(r: Resolved) -> int:
    return r.threads + sum(r.elems.values())


def _case(spec: Spec, r: Resolved, asked: Collection[str], side: ChildSide, timeout: float) -> CaseSeen:
    case = r.case
    why = too_large(r, "emulator") if r.launchable else "nothing is launched"
    if why:
        return CaseSeen(case.name, case.sizes, r.elems, why=why)
    runs = []
    loose = False
    for zeros in (False, True):
        job = {"do": "measure_original", "case": case.name, "asked": sorted(asked), "zeros": zeros}
        _ = side.child  # loaded again where an earlier case cost the child its life
        found = side.ask(job, timeout)
        if found["stopped"] == _BUDGET and not zeros:
            return CaseSeen(case.name, case.sizes, r.elems, why=_LONG)
        touched = {n: _touch(n, t, n in asked, found["stopped"]) for n, t in found["buffers"].items()}
        runs.append(touched)
        loose = loose or found["loose"]
        if any(t.spoilt for t in touched.values()):
            break
    return CaseSeen(case.name, case.sizes, r.elems, tuple(runs), loose=loose)


def _touch(name: str, t: Mapping[str, object], asked: bool, stopped: str) -> Touch:
    left = f"the kernel reaches before the start of {name}" if t["below"] else ""
    if not left and not t["complete"]:
        left = f"the kernel leaves {name}"
    # out of a buffer of known size: the case is at fault, as with no rows at all
    spoilt = f"the kernel is ended by {stopped}" if stopped else "" if asked else left
    return Touch(int(str(t["elems"])), _role(str(t["role"])), left if asked else "", spoilt)


def _role(text: str) -> Seen:
    return next(r for r in _ROLES if r == text)


def extent(buffer: str, seen: Sequence[CaseSeen], generous: bool) -> Extent:
    """What the cases say of a buffer. A `generous` drafted size may be more than what is touched."""
    known: dict[str, int] = {}
    missing: list[CaseSeen] = []
    for s in seen:
        if why := s.fault:
            missing.append(replace(s, why=why))
            continue
        if left := next((t.left for run in s.runs for t in run.values() if t.left), ""):
            return Extent(f"{left} in case {s.case}", {})
        counts = [run[buffer].elems for run in s.runs]
        if len(set(counts)) > 1:
            each = ", ".join(f"{n} {kind}" for n, kind in zip(counts, _KINDS, strict=True))
            return Extent(f"how much is touched depends on the data: {each} in case {s.case}", {})
        known[s.case] = counts[0]
    if not any(known.values()):
        return Extent("no element was touched" if known else f"no case could be run: {missing[0].why}", {})
    drafted = {s.case: s.drafted[buffer] for s in seen}
    words = f"{_range(known)} in {len(known)} of {len(seen)} cases, with zeros as well"
    few = len(known) < min(_LEAST, len(seen))
    if not few and all(known[c] == drafted[c] or (generous and known[c] < drafted[c]) for c in known):
        return Extent(f"{words}: the size is right", drafted, kept=True)
    if missing:
        where = ", ".join(f"{s.case} ({s.why})" for s in missing)
        more = _extrapolated(seen, known, missing)
        if more is None:
            return Extent(f"{words}, which tells nothing of {where}", {})
        known |= more[1]
        words += f"; each time {more[0]}, so taken for {where}"
    return Extent(words, {c: max(1, n) for c, n in known.items()})


def _extrapolated(
    seen: Sequence[CaseSeen], known: Mapping[str, int], missing: Sequence[CaseSeen]
) -> tuple[str, dict[str, int]] | None:
    """What follows for cases that were not run: from the sizes, else from how much is launched."""
    pairs = [(s.sizes, known[s.case]) for s in seen if s.case in known]
    if found := law(pairs, [s.sizes for s in missing]):
        return str(found), {s.case: found.at(s.sizes) for s in missing}
    if all(s.launched for s in seen):
        pairs = [(s.launched, known[s.case]) for s in seen if s.case in known]
        if found := law(pairs, [s.launched for s in missing]):
            return f"{found} of the launch", {s.case: found.at(s.launched) for s in missing}
    return None


def _range(counts: Mapping[str, int]) -> str:
    low, high = min(counts.values()), max(counts.values())
    return f"{high} elements" if low == high else f"{low} to {high} elements"


def wider_roles(spec: Spec, seen: Sequence[CaseSeen]) -> dict[str, Role]:
    """Buffers that a run was seen to use in a way their role leaves out. A role is never made narrower: a run
    shows what a kernel does, not what it never does."""
    found: dict[str, Role] = {}
    for arg in spec.buffers:
        ways = {t.role for s in seen for run in s.runs if (t := run.get(arg.name))} - {"unused"}
        if arg.role not in ("inout", "scratch") and ways - {arg.role}:
            found[arg.name] = "inout"
    return found


def role_of(buffer: str, seen: Sequence[CaseSeen], written: bool) -> tuple[str, Role | None]:
    """What the cases say of the use of a buffer whose role nobody knows, in words; and the role, None where
    they do not tell it. `written`: a write is known of. What a run was not seen to do, parity still watches:
    an `in` that changes, an `out` that is read before it is written."""
    ran = [s for s in seen if not s.fault]
    if not ran:
        return f"no case could be run: {seen[0].fault}", None
    left = next((f"{t.left} in case {s.case}" for s in ran for run in s.runs if (t := run[buffer]).left), "")
    if left:
        return left, None
    ways = {run[buffer].role for s in ran for run in s.runs} - {"unused"}
    where = f"in {len(ran)} of {len(seen)} cases, with zeros as well"
    if not ways:
        return f"not touched {where}", None
    reads, writes = bool(ways & {"in", "inout"}), bool(ways & {"out", "inout"})
    words = "read and written" if reads and writes else "only read" if reads else "written before it is read"
    if len(ran) < min(_LEAST, len(seen)):
        return f"{words} {where}, which are too few", None
    if written and not writes:
        return f"{words} {where}, though the kernel has a write of it", None
    return f"{words} {where}", "inout" if reads and writes else "in" if reads else "out"
