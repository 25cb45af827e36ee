"""Which runs a comparison consists of, by device: cases, kinds of values, repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from verify.facts import kind_of
from verify.inputs import Values, lanes
from verify.resolve import Resolved, resolve
from verify.spec import Case, Spec

Device = Literal["gpu", "emulator"]
HELD_OUT = "held out: "  # how the names of cases begin that the spec does not list, see heldout
_ORDER = ("boundary", "typical", "large")

# Kinds of input values by role of the case, each with a new seed. "spec" comes first.
_VALUES: dict[str, tuple[Values, ...]] = {
    "boundary": ("spec", "small_int", "special"),
    "typical": ("spec", "spec", "small_int", "constant", "large", "special"),
    "large": ("spec",),
}
_SEEDS_ONLY: dict[str, tuple[Values, ...]] = {
    "boundary": ("spec", "spec"),
    "typical": ("spec", "spec", "spec"),
    "large": ("spec",),
}
# The emulator's time goes with the number of threads: odd values meet small shapes there, and a big case runs
# once, for what only its size shows.
_EMULATED_SMALL: tuple[Values, ...] = ("spec", "special")
# Small runs that random values seldom are like: the largest in the last place, ties, values next to zero.
_EMULATED_EDGES: tuple[Values, ...] = ("rising", "few", "tiny")
_EMULATED_BIG: tuple[Values, ...] = ("spec",)
_BIG_THREADS = 1 << 14
_BASE = 256  # what the allocations of a run are aligned to
# Threads and elements of a case, together: a second or so of emulation at a few dozen instructions each.
_MOST_WORK: Mapping[str, int] = {"boundary": 1 << 24, "typical": 1 << 24, "large": 1 << 22}


@dataclass(frozen=True, slots=True)
class Run:
    case: Case
    seed: int
    values: Values
    shifted: bool = False  # addresses are aligned no better than they must be

    @property
    def kind(self) -> str:
        """What tells it from other runs of its case, seeds apart."""
        kind = kind_of(self.values, self.shifted)
        return f"{kind}, held out" if self.held_out else kind

    @property
    def asks(self) -> str:
        """What is left out from now on where the original can't do it."""
        _, _, others = self.case.name.partition("; ")
        return f"{self.kind} with {others}" if self.held_out and others else self.kind

    @property
    def held_out(self) -> bool:
        """True for a case that the spec does not list."""
        return self.case.name.startswith(HELD_OUT)

    @property
    def own(self) -> bool:
        """True where nothing is tried that the spec does not itself ask for."""
        return self.values == "spec" and not self.shifted and not self.held_out

    def __str__(self) -> str:
        return f"case {self.case.name}, seed {self.seed}, values {self.kind}"


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often one run is repeated, by role of the case. On a GPU repeats show what timing changes; in the
    emulator each is another order of the threads: forward, reverse, then random ones."""

    port: Mapping[str, int]
    original: int  # shows whether the original's results vary
    spread: Mapping[str, int]  # where they do: enough to know how far


REPEATS: Mapping[Device, Repeats] = {
    "gpu": Repeats({"boundary": 3, "typical": 3, "large": 2}, 2, {"boundary": 6, "typical": 6, "large": 4}),
    "emulator": Repeats(
        {"boundary": 3, "typical": 2, "large": 2}, 2, {"boundary": 6, "typical": 4, "large": 4}
    ),
}


def plan(spec: Spec, cases: Sequence[str], seed: int, device: Device = "gpu") -> list[Run]:
    """The runs in order: boundary shapes first, since they find most for least."""
    chosen = [c for c in spec.case if not cases or c.name in cases]
    filled = [lane for arg in spec.buffers if not arg.poisoned for lane in lanes(arg)]
    free = any(lane.varies for lane in filled)
    ranges = any(lane.ranges for lane in filled)
    runs: list[Run] = []
    for case in sorted(chosen, key=lambda c: _ORDER.index(c.role)):
        kinds = _VALUES[case.role]
        big = is_big(spec, case)
        if device == "emulator":
            kinds = _EMULATED_BIG if big else _EMULATED_SMALL
        if not free:  # other values would be the same ones: only new seeds then
            kinds = _SEEDS_ONLY[case.role][: len(kinds)]
        if device == "emulator" and ranges and case.role == "boundary" and not big:
            kinds += _EMULATED_EDGES if free else _EMULATED_EDGES[:2]
        runs += [Run(case, seed + i, v) for i, v in enumerate(kinds)]
    return _with_shifted(spec, runs)


def _with_shifted(spec: Spec, runs: list[Run]) -> list[Run]:
    """With a run at badly aligned addresses, of the largest case that has odd values too."""
    if not any(a.least_align < _BASE and not a.symbol for a in spec.buffers):
        return runs
    own = [r for r in runs if r.own and r.case.role != "large"]
    small = [r for r in own if not is_big(spec, r.case)] or own[:1]
    if not small:
        return runs
    chosen = max(small, key=lambda r: sum(resolve(spec, r.case).elems.values()))
    place = max(i for i, r in enumerate(runs) if r.case is chosen.case) + 1
    return [*runs[:place], replace(chosen, shifted=True), *runs[place:]]


def is_big(spec: Spec, case: Case) -> bool:
    """True for a case that the emulator runs once only."""
    return resolve(spec, case).threads > _BIG_THREADS


def too_large(resolved: Resolved, device: Device) -> str:
    """Why a case is not run on this device, or ""."""
    elements = sum(resolved.elems.values())
    if device == "gpu" or resolved.threads + elements <= _MOST_WORK[resolved.case.role]:
        return ""
    return f"too large for the emulator: {resolved.threads} threads, {elements} elements"
