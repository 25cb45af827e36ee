"""What of a kernel's device code a port needs an answer to, by its text: also where it can't be read."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from translator.frontend.no_code import COMMENT

_LINE = re.compile(r"^#line\b.*$", re.M)


@dataclass(frozen=True, slots=True)
class Found:
    """A row of the table and the lines of the text where it is."""

    kind: str
    name: str
    lines: tuple[int, ...]


@cache
def _rows() -> list[tuple[str, str, re.Pattern[str]]]:
    read = tomllib.loads(Path(__file__).with_name("features.toml").read_text(encoding="utf-8"))
    return [(r["kind"], r["name"], re.compile(r["pattern"])) for r in read["feature"]]


def features(text: str) -> list[Found]:
    """Rows of features.toml that CUDA text matches, in the order of the table; comments count for nothing."""
    plain = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text)
    plain = _LINE.sub("", plain)
    found = []
    for kind, name, pattern in _rows():
        lines = dict.fromkeys(plain.count("\n", 0, m.start()) + 1 for m in pattern.finditer(plain))
        if lines:
            found.append(Found(kind, name, tuple(lines)))
    return found
