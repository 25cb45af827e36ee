"""How a port's compiled code differs from its original's: launch, resources, accesses, order, arithmetic.

The rows and their rules are in algorithm_rows. A port that lost the original's algorithm shows
first in this table, and mostly before it shows in the time.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Group = Literal["launch", "resources", "memory", "order", "arithmetic"]
# cubin: what the machine code takes; ptx, sass: how often it stands in the code; executed: sums over all
# threads of one case in the emulator.
Source = Literal["launch", "cubin", "ptx", "sass", "executed"]
Judgement = Literal["same", "port more", "port less", "differs", "unknown"]
Value = int | str | None


class AlgorithmRow(BaseModel):
    """One number of both sides. `key` is stable for programs, `name` and `unit` are for people. None: not
    known on that side. `telling` says in one line what the difference means, "" where it means nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    name: str
    group: Group
    source: Source
    unit: str = ""
    original: Value = None
    port: Value = None
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


def shown(value: Value) -> str:
    """A value for people."""
    return "none" if value in (None, "", 0) else str(value)


def in_lines(diff: AlgorithmDiff, *, whole: bool = False) -> list[str]:
    """A compact table: the telling rows, or all of them. Empty where nothing is telling."""
    rows = diff.rows if whole else diff.telling
    if not rows:
        return []
    cells = [(r.name, shown(r.original), shown(r.port), r.telling) for r in rows]
    widths = [max(len(row[i]) for row in [("", "original", "port", ""), *cells]) for i in range(3)]
    head = ("algorithm", "original", "port", "")
    widths[0] = max(widths[0], len(head[0]))
    return [
        f"{name:<{widths[0]}}  {old:>{widths[1]}}  {new:>{widths[2]}}  {words}".rstrip()
        for name, old, new, words in (head, *cells)
    ]
