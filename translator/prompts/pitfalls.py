"""The DSL's pitfalls as a table, and which of them a kernel can meet."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from translator.frontend.no_code import COMMENT_OR_STRING

_READ = 300_000  # characters of a source that are searched


@dataclass(frozen=True, slots=True)
class Pitfall:
    """One row. `silent`: nothing warns. `wrong` and `right` are lines of a kernel or ""."""

    id: str
    text: str
    silent: bool = False
    wrong: str = ""
    right: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    """`cuda` None: it always applies. `port` is searched in a draft or port."""

    pitfall: Pitfall
    cuda: re.Pattern[str] | None
    port: re.Pattern[str] | None


def pitfalls_for(cuda: str, port: str = "") -> tuple[Pitfall, ...]:
    """The rows that apply to a CUDA source and, where there is one, a draft or port; in the table's order."""
    theirs, ours = COMMENT_OR_STRING.sub(" ", cuda[:_READ]), port[:_READ]
    return tuple(
        row.pitfall
        for row in _rows()
        if row.cuda is None or row.cuda.search(theirs) or (row.port is not None and row.port.search(ours))
    )


def all_pitfalls() -> tuple[Pitfall, ...]:
    """Every row, in the table's order."""
    return tuple(row.pitfall for row in _rows())


@cache
def _rows() -> tuple[_Row, ...]:
    text = files("translator.prompts").joinpath("pitfalls.toml").read_text(encoding="utf-8")
    return tuple(_row(row) for row in tomllib.loads(text)["pitfall"])


def _row(row: dict[str, Any]) -> _Row:
    pitfall = Pitfall(
        id=row["id"],
        text=row["text"],
        silent=row.get("silent", False),
        wrong=row.get("wrong", "").strip("\n"),
        right=row.get("right", "").strip("\n"),
    )
    return _Row(pitfall, _any(row.get("when")), _any(row.get("port")))


def _any(patterns: list[str] | None) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{p})" for p in patterns)) if patterns else None
