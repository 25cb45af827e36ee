"""One finding as text with its source line and a caret: for the terminal and whatever quotes it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from translator.diag.diagnostic import Span

_TAB = 4
_WIDEST = 160  # columns of a quoted line; a longer one is cut around the caret


class Shown(Protocol):
    """What can be rendered: a Diagnostic, or a finding of another stage in the same shape."""

    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def span(self) -> Span: ...
    @property
    def hint(self) -> str: ...


class Sources:
    """Lines of the files that findings point into, each file read once; unreadable files have none."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def line(self, path: str, number: int) -> str | None:
        """Line `number` (1-based) of `path` without its end, or None."""
        if path not in self._lines:
            try:
                text = Path(path).read_bytes().decode("utf-8-sig", "replace")
            except OSError:
                text = ""
            self._lines[path] = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        lines = self._lines[path]
        return lines[number - 1] if 0 < number <= len(lines) else None


def render(shown: Shown, sources: Sources | None = None) -> str:
    """`severity CODE: message`, the place, the quoted line with carets, and the hint."""
    head = f"{shown.severity} {shown.code}: {shown.message}"
    rows = [head]
    span = shown.span
    if span.path:
        rows.append(f"  --> {span}")
    quoted = (sources or Sources()).line(span.path, span.line) if span.line else None
    if quoted is not None:
        rows += _snippet(quoted, span)
    if shown.hint:
        rows.append(f"  = {shown.hint}")
    return "\n".join(rows)


def _snippet(line: str, span: Span) -> list[str]:
    column = max(1, span.column)
    before = _shown(line[: column - 1])
    same_line = span.end_line in (0, span.line)
    end = span.end_column if same_line and span.end_column > column else column + 1
    marked = _shown(line[column - 1 : end - 1]) or " "
    text = _shown(line)
    start = len(before)
    if len(text) > _WIDEST:
        cut = max(0, start - _WIDEST // 2)
        text = ("…" if cut else "") + text[cut : cut + _WIDEST] + "…"
        start = start - cut + (1 if cut else 0)
    width = max(1, min(len(marked), _WIDEST + 1 - start))
    number = str(span.line)
    gutter = " " * len(number)
    quoted = f" {number} | {text}"
    return [quoted, f" {gutter} | {' ' * start}{'^' * width}"] if span.column else [quoted]


def _shown(text: str) -> str:
    """Tabs widened and control characters replaced, so that columns line up and no escape gets through."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text.expandtabs(_TAB))
