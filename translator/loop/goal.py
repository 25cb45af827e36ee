"""What a conversation is after, and when it has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from translator.loop.judged import Judged

Mode = Literal["port", "lift", "tune"]

# A gain below this is within what one run of the clock tells apart.
_GAIN = 1.03
# Passed candidates in a row that gained nothing.
_IDLE_ROUNDS = {"port": 0, "lift": 2, "tune": 4}


@dataclass(slots=True)
class Goal:
    """`start` is the verified port that lift and tune begin with. `timed` says that speed is measured here;
    where it is not, what passed and was submitted is all that can be told."""

    mode: Mode
    start: Judged | None = None
    timed: bool = False
    best: Judged | None = None
    _idle: int = 0

    def note(self, judged: Judged) -> None:
        """Take a candidate in; only one that passed, and is not the text that was there, counts."""
        if not judged.passed or self.unchanged(judged):
            return
        if self.mode == "port" or not self.timed:
            # nothing here tells which is faster: the model's last word stands
            self.best = judged if self.mode != "port" or self.best is None else self.best
            return
        if (judged.speed or 0.0) > self._to_beat * (_GAIN if self.best is not None else 1.0):
            self.best, self._idle = judged, 0
        else:
            self._idle += 1

    @property
    def _to_beat(self) -> float:
        held = self.best or self.start
        return (held.speed or 0.0) if held is not None else 0.0

    def unchanged(self, judged: Judged) -> bool:
        """True for the text that lift or tune began with."""
        return self.start is not None and judged.digest == self.start.digest

    def reached(self, *, submitted: bool) -> bool:
        """True where going on gains nothing more."""
        if self.mode == "port":
            return self.best is not None
        if submitted and self.best is not None:
            return True
        return self.timed and self._idle >= _IDLE_ROUNDS[self.mode]

    @property
    def gain(self) -> float | None:
        """The best candidate's speed over the start's; None where either was not timed."""
        if self.start is None or self.best is None or not self.start.speed or not self.best.speed:
            return None
        return self.best.speed / self.start.speed
