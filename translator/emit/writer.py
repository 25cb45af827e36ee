"""Lines of Python with indentation, and which CUDA line each came from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from translator.diag.diagnostic import NOWHERE, Span

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MAX_DEPTH = 90  # CPython refuses 100 levels of indentation


def one_line(text: str) -> str:
    """`text` that stays inside its line of Python and reads in the order it is written.

    A carriage return ends a line (and a comment) for Python; a direction mark lets code look like a comment.
    """
    return _CONTROL.sub(lambda m: " " if m[0].isspace() else "\N{REPLACEMENT CHARACTER}", text)


@dataclass(slots=True)
class Writer:
    lines: list[str] = field(default_factory=list)
    origins: list[tuple[int, str, int]] = field(default_factory=list)  # (port line, CUDA file, CUDA line)
    depth: int = 0
    deepest: int = 0

    def line(self, text: str = "", span: Span = NOWHERE) -> None:
        for part in text.split("\n"):
            self.lines.append("    " * self.depth + part if part else "")
            if span.line and part:
                self.origins.append((len(self.lines), span.path, span.line))

    def comment(self, lines: tuple[str, ...]) -> None:
        for text in lines:
            self.line(f"# {one_line(text)}".rstrip())

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        yield
        self.depth -= 1
