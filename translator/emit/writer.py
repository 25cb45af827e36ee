"""Lines of Python with indentation, and which CUDA line each came from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from translator.diag.diagnostic import NOWHERE, Span

MAX_DEPTH = 90  # CPython refuses 100 levels of indentation


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
            self.line(f"# {text}".rstrip())

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        yield
        self.depth -= 1
