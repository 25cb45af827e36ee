"""One kernel's budget, shared by the conversations about it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from translator.llm.budget import Budget, Price, Spent, estimate
from translator.llm.messages import Message, Reply, Tool


@dataclass(slots=True)
class Purse:
    """Adds up what conversations in several threads spend; `over` says which limit was met first."""

    budget: Budget
    price: Price | None = None
    spent: Spent = field(default_factory=Spent)
    _start: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """The seconds count from here: what all kernels share is not one kernel's."""
        self._start = time.monotonic()

    @property
    def seconds_left(self) -> float:
        return self.budget.seconds - self.seconds

    def add(self, reply: Reply) -> None:
        """Take an answer into account."""
        with self._lock:
            self.spent = self.spent.plus(reply.usage, self.price)

    def over(self, messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        """Why this may not be sent any more, "" where it may."""
        ahead = estimate(messages, tools)
        with self._lock:
            return self.budget.over(self.spent, self.seconds, ahead, self.price) or ""

    @property
    def turns_left(self) -> int:
        with self._lock:
            return max(0, self.budget.turns - self.spent.turns)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start
