"""How a port's compiled code differs from its original's: launch, resources, accesses, order, arithmetic.

Rows come from what other stages record; nothing is run here. A port that lost the original's algorithm shows
first in this table, and mostly before it shows in the time.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Group = Literal["launch", "resources", "memory", "order", "arithmetic"]
# ptx and sass: how often it stands in the code; executed: sums over all threads of one case in the emulator.
Source = Literal["launch", "cubin", "ptx", "sass", "executed"]
Judgement = Literal["same", "port more", "port less", "differs", "unknown"]


class AlgorithmRow(BaseModel):
    """One number of both sides. `key` is stable for programs, `name` and `unit` are for people. None: not
    known on that side. `telling` says in one line what the difference means, "" where it means nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    name: str
    group: Group
    source: Source
    unit: str = ""
    original: int | str | None = None
    port: int | str | None = None
    judgement: Judgement
    telling: str = ""


class AlgorithmDiff(BaseModel):
    """Both sides side by side. `case` is the one whose launch and executed counts are told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: list[AlgorithmRow]
    case: str = ""

    @property
    def telling(self) -> list[AlgorithmRow]:
        """The rows whose difference means something."""
        return [r for r in self.rows if r.telling]

    @property
    def words(self) -> str:
        """One line, as in "2 telling differences: …"."""
        told = [r.telling for r in self.telling]
        if not told:
            return "the same algorithm, as far as the compiled code tells"
        return f"{len(told)} telling difference{'s' * (len(told) > 1)}: {'; '.join(told)}"
