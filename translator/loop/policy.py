"""When a conversation goes round in circles, and what to change then."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from translator.loop.judged import Judged, Reached


class Step(StrEnum):
    """What the next turn does. In this order, each is tried before the next."""

    GO_ON = "go on"  # the fault is told, nothing else changes
    SMALLER = "smaller step"  # one thing at a time, the simplest form first
    OTHER_EXEMPLAR = "other exemplar"  # the next entry of the corpus is shown
    BACK_TO_BEST = "back to best"  # a new conversation that begins with the best candidate
    GIVE_UP = "give up"


_ORDER = (Step.SMALLER, Step.OTHER_EXEMPLAR, Step.BACK_TO_BEST, Step.GIVE_UP)
# A fault told once may take a second look; told twice and still there, telling it again changes nothing.
_SAME = 2
# Turns in which nothing got better, though the faults differed.
_PATIENCE = 5


@dataclass(slots=True)
class Policy:
    """What one conversation has been through."""

    best: Judged | None = None
    _texts: set[str] = field(default_factory=set)
    _last: str = ""
    _times: int = 0
    _idle: int = 0
    _changes: int = 0

    def note(self, judged: Judged) -> tuple[Step, str]:
        """What to do after this candidate, and the reason in words ("" for GO_ON)."""
        improved = judged.better_than(self.best)
        if improved:
            self.best = judged
        again = judged.digest in self._texts
        self._texts.add(judged.digest)
        self._times = self._times + 1 if judged.signature == self._last else 1
        self._last = judged.signature
        self._idle = 0 if improved else self._idle + 1
        if judged.passed:
            return Step.GO_ON, ""
        if again:
            return self._change("this text was tried before, with the same result")
        if self._times >= _SAME and not improved:
            return self._change("the same fault is there again")
        if self._idle >= _PATIENCE:
            return self._change(f"nothing got better in {self._idle} turns")
        return Step.GO_ON, ""

    def empty(self) -> tuple[Step, str]:
        """What to do after an answer without a candidate."""
        self._idle += 1
        return (
            self._change("no candidate in several answers") if self._idle >= _PATIENCE else (Step.GO_ON, "")
        )

    def _change(self, why: str) -> tuple[Step, str]:
        step = _ORDER[min(self._changes, len(_ORDER) - 1)]
        if step is Step.BACK_TO_BEST and (self.best is None or self.best.reached <= Reached.NAMES):
            step = Step.SMALLER  # nothing worth going back to
        self._changes += 1
        self._times = self._idle = 0
        return step, why
