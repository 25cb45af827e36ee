"""`origin.json` beside a port: who proposed it, and what that took. No check rests on it; reports show it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verify.files import read_bytes

ORIGIN = "origin.json"


class Origin(BaseModel):
    """`by` names the proposer. Tokens are those sent and received, money is in US dollars, null where not
    known; `candidates` are texts that were judged before this one was kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    by: str = Field(max_length=200)
    mode: str = Field(max_length=40)
    turns: int
    candidates: int
    tokens: int
    money: float | None = None
    seconds: float

    @property
    def words(self) -> str:
        """As in "m, to port: 3 turns, 2 candidates, 5300 tokens, 41 s"."""
        cost = "" if self.money is None else f", {self.money:.4f} dollars"
        told = f"{self.turns} turn{'s' * (self.turns != 1)}, {self.candidates} candidate"
        told += f"{'s' * (self.candidates != 1)}, {self.tokens} tokens{cost}, {self.seconds:.0f} s"
        return f"{self.by}, to {self.mode}: {told}"


def read_origin(folder: Path) -> str:
    """What a report says of a port's origin; "" where nothing is told."""
    try:
        return Origin.model_validate_json(read_bytes(folder / ORIGIN)).words
    except FileNotFoundError:
        return ""
    except (OSError, ValidationError):
        return f"not known: {ORIGIN} can't be read"
