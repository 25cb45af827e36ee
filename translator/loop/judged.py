"""What became of one candidate: how far it got, and the one fault that the next turn is about."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import IntEnum

from translator.grounding.check import Unknown
from verify.facts import Difference, FindingFacts
from verify.verdict import StageResult, Status, Verdict


class Reached(IntEnum):
    """How far a candidate got; later is better, whatever its text looks like."""

    NOTHING = 0
    NAMES = 1  # it uses names that do not exist
    STATIC = 2
    COMPILE = 3
    LAUNCH = 4
    VALUES = 5
    FAULTS = 6  # right values, but a race, a bad access, a barrier that not all reach
    SLOW = 7  # right, and slower than it must be
    PASSED = 8


_REACHED = {
    Status.REJECTED_STATIC: Reached.STATIC,
    Status.COMPILE_ERROR: Reached.COMPILE,
    Status.LAUNCH_ERROR: Reached.LAUNCH,
    Status.CRASHED: Reached.LAUNCH,
    Status.TIMEOUT: Reached.LAUNCH,
    Status.WRONG_SHAPE: Reached.VALUES,
    Status.WRONG_DTYPE: Reached.VALUES,
    Status.WRONG_VALUES: Reached.VALUES,
    Status.AMBIGUOUS: Reached.VALUES,
    Status.MISCOMPILED: Reached.VALUES,
    Status.SANITIZER: Reached.FAULTS,
    Status.SLOWER: Reached.SLOW,
    Status.PASSED: Reached.PASSED,
}
# What no candidate can mend: the original's own faults, and what this machine lacks.
_NOT_THE_CANDIDATE = frozenset({Status.ORIGINAL_SUSPECT, Status.NOT_RUN, Status.COMPILED, Status.REFUSED})
# What the spec, its reference or the original is to blame for.
_OF_THE_SPEC = frozenset(
    (
        "CP7010",
        "CP7016",
        "CP7017",
        "CP7018",
        "CP7019",
        "CP7022",
        "CP7025",
        "CP7026",
        "CP7027",
        "CP7028",
        "CP7029",
    )
)
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


@dataclass(frozen=True, slots=True)
class Judged:
    """One candidate and what `verify` said of it; `unknown` names end it before anything is compiled."""

    source: str
    unknown: tuple[Unknown, ...] = ()
    verdict: Verdict | None = None

    @property
    def digest(self) -> str:
        """Of the text, spaces at line ends apart."""
        lines = "\n".join(line.rstrip() for line in self.source.strip().splitlines())
        return hashlib.sha256(lines.encode()).hexdigest()[:16]

    @property
    def reached(self) -> Reached:
        if self.unknown:
            return Reached.NAMES
        if self.verdict is None:
            return Reached.NOTHING
        if self.gap is not None:
            return Reached.LAUNCH
        return _REACHED.get(self.verdict.status, Reached.NOTHING)

    @property
    def passed(self) -> bool:
        return self.reached is Reached.PASSED

    @property
    def gap(self) -> StageResult | None:
        """The comparison that this machine could not make for this candidate: what its PTX has and the
        emulator has not. Another candidate may do without."""
        stage = self.verdict.stage("parity") if self.verdict is not None else None
        unable = (
            stage is not None and stage.status is Status.NOT_RUN and (stage.code or "").startswith("CP71")
        )
        return stage if unable else None

    @property
    def hopeless(self) -> bool:
        """No other candidate can do better: the fault is the original's, the spec's or the machine's."""
        if self.verdict is None or self.gap is not None:
            return False
        stage = self.failed
        return self.verdict.status in _NOT_THE_CANDIDATE or (stage is not None and stage.code in _OF_THE_SPEC)

    @property
    def failed(self) -> StageResult | None:
        """The stage that ended it."""
        if self.verdict is None:
            return None
        over = (Status.PASSED, Status.NOT_RUN)
        return next((s for s in self.verdict.stages if s.status not in over), self.gap)

    @property
    def wrong(self) -> Difference | None:
        """The first output that differs."""
        stage = self.failed
        if stage is None or stage.parity is None:
            return None
        return next((d for d in stage.parity.outputs if d.bad), None)

    @property
    def fault(self) -> FindingFacts | None:
        """What the port did that no right kernel does, where that ended it."""
        stage = self.failed
        if stage is None:
            return None
        facts = stage.parity or stage.sanitize
        held = facts.findings if facts is not None else []
        return next((f for f in held if f.side == "port" and f.code == stage.code), None)

    @property
    def share_bad(self) -> float:
        """Of the elements of the first wrong output; 0 where none is wrong."""
        wrong = self.wrong
        return wrong.bad / max(1, wrong.elements) if wrong is not None else 0.0

    @property
    def speed(self) -> float | None:
        """The original's time over the port's; None where nothing was timed."""
        bench = self.verdict.stage("bench") if self.verdict is not None else None
        return bench.bench.ratio if bench is not None and bench.bench is not None else None

    @property
    def signature(self) -> str:
        """The same for two candidates that fail alike: numbers and lines left out."""
        if self.unknown:
            return "names " + " ".join(sorted({u.name for u in self.unknown}))
        stage = self.failed
        if stage is None:
            return "passed" if self.passed else "nothing"
        first = (stage.message.strip().splitlines() or [""])[0]
        return f"{stage.stage} {stage.status} {stage.code} {_NUMBERS.sub('#', first)[:160]}"

    def better_than(self, other: Judged | None) -> bool:
        """Further, then fewer wrong elements, then faster; of equals the earlier one is kept."""
        return other is None or self._rank > other._rank

    @property
    def _rank(self) -> tuple[int, float, float]:
        return self.reached, -self.share_bad, self.speed or 0.0
