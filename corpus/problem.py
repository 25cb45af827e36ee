"""What is wrong with an entry or a block: a code of `corpus.codes`, a place, words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Problem:
    """`line` is 1-based in `path`; 0 where it is about the whole file or folder."""

    code: str
    path: Path
    message: str
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{place}: {self.code}: {self.message}"


class CorpusError(Exception):
    """Something can't be used or done. `problems` is never empty."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
