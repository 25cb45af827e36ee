"""What a loop may spend on one kernel, and what it has spent."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from translator.llm.messages import LlmError, Message, Tool, Usage
from translator.settings import price

_CHARACTERS = 4  # per token: a rule of thumb for English and code, not a count


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    prompt: float
    answer: float

    def of(self, usage: Usage) -> float:
        """US dollars."""
        return (usage.prompt * self.prompt + usage.answer * self.answer) / 1e6


@dataclass(frozen=True, slots=True)
class Spent:
    """So far: answers, tokens and US dollars. `money` is None where the price isn't known; `estimated` is
    True where a count of tokens was."""

    turns: int = 0
    prompt: int = 0
    answer: int = 0
    money: float | None = None
    estimated: bool = False

    @property
    def tokens(self) -> int:
        return self.prompt + self.answer

    def plus(self, usage: Usage, price: Price | None = None) -> Spent:
        """With one more answer. Without a price, money is unknown from then on."""
        known = price is not None and (self.money is not None or self.turns == 0)
        return replace(
            self,
            turns=self.turns + 1,
            prompt=self.prompt + usage.prompt,
            answer=self.answer + usage.answer,
            money=(self.money or 0.0) + price.of(usage) if price is not None and known else None,
            estimated=self.estimated or usage.estimated,
        )


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a budget, never below 0; `money` is None where it isn't limited."""

    turns: int
    tokens: int
    money: float | None
    seconds: float


class BudgetSettings(Protocol):
    """What a budget needs of Settings."""

    @property
    def turns(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def money(self) -> float: ...
    @property
    def seconds(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one kernel: answers, tokens sent and received, US dollars (0 for no limit), and seconds of
    the whole loop."""

    turns: int
    tokens: int
    money: float
    seconds: float

    @classmethod
    def of(cls, settings: BudgetSettings) -> Budget:
        return cls(settings.turns, settings.tokens, settings.money, settings.seconds)

    def left(self, spent: Spent, elapsed: float) -> Left:
        """What is left after `elapsed` seconds."""
        return Left(
            max(0, self.turns - spent.turns),
            max(0, self.tokens - spent.tokens),
            max(0.0, self.money - (spent.money or 0.0)) if self.money else None,
            max(0.0, self.seconds - elapsed),
        )

    def over(self, spent: Spent, elapsed: float, ahead: int = 0, price: Price | None = None) -> str | None:
        """Why no further request may be sent, or None. `ahead` is the next prompt's tokens, as estimated: a
        request whose prompt alone goes beyond a limit is not sent."""
        left = self.left(spent, elapsed)
        about = "about " if spent.estimated else ""
        if not left.turns:
            return f"all {self.turns} turns are used"
        if not left.seconds:
            return f"{elapsed:.0f} s of {self.seconds:g} s are over"
        if not left.tokens:
            return f"{about}{spent.tokens} of {self.tokens} tokens are used"
        if ahead > left.tokens:
            return f"the next prompt of about {ahead} tokens is more than the {about}{left.tokens} left"
        if left.money is None:
            return None
        if spent.money is None and spent.turns:
            return f"what {spent.turns} turns cost is not known, and money is limited"
        if not left.money:
            return f"{about}{spent.money or 0.0:.4f} of {self.money:g} dollars are used"
        if price is not None and (cost := price.of(Usage(ahead))) > left.money:
            return f"the next prompt costs about {cost:.4f} dollars, more than the {left.money:.4f} left"
        return None


class PriceSettings(Protocol):
    """What a price needs of Settings."""

    @property
    def model(self) -> str: ...
    @property
    def prices(self) -> tuple[str, ...]: ...
    @property
    def money(self) -> float: ...


def prices(rows: Sequence[str]) -> dict[str, Price]:
    """The table of prices from "MODEL=IN/OUT" texts. Raises ValueError."""
    return {name: Price(sent, received) for name, sent, received in map(price, rows)}


def price_of(settings: PriceSettings) -> Price | None:
    """The price of the model; None where none is given and money isn't limited.

    Raises LlmError (CP5322, fatal) where money is limited and the price isn't known: it is never guessed.
    """
    found = prices(settings.prices).get(settings.model)
    if found is None and settings.money:
        raise LlmError.of("CP5322", money=f"{settings.money:g}", model=settings.model)
    return found


def estimate_text(*texts: str) -> int:
    """Tokens of texts, estimated as a quarter of their characters, rounded up."""
    return math.ceil(sum(map(len, texts)) / _CHARACTERS)


def estimate(messages: Sequence[Message], tools: Sequence[Tool] = ()) -> int:
    """Tokens of a prompt before it is sent: an estimate, a quarter of its characters."""
    texts = [m.content for m in messages]
    texts += [c.name + c.arguments for m in messages for c in m.calls]
    texts += [t.name + t.description + json.dumps(dict(t.parameters)) for t in tools]
    return estimate_text(*texts)
