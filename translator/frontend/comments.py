"""The author's comments, found once per file and handed out by place."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

_TOKEN = re.compile(
    rb"//(?:\\[ \t\v\f]*(?:\r\n?|\n)|[^\r\n])*"
    rb"|/\*.*?\*/"
    rb'|"(?:\\.|[^"\\\n])*"'
    rb"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
_NEWLINE = re.compile(r"\r\n?|\n")  # what ends a line for clang, and for Python
_DECORATION = re.compile(r"^[-=*#/_~+\s]*$")
_TOOL_LINE = re.compile(r"^(clang-format|NOLINT|NOSONAR|cppcheck-suppress)")


@dataclass(frozen=True, slots=True)
class Comment:
    start: int
    end: int
    lines: tuple[str, ...]


class Comments:
    """Comments of one file in order; offsets are bytes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.all: list[Comment] = []
        for m in _TOKEN.finditer(source):
            if m.group()[:2] in (b"//", b"/*"):
                lines = _lines(m.group().decode("utf-8", "replace"))
                if lines:
                    self.all.append(Comment(m.start(), m.end(), lines))
        self._starts = [c.start for c in self.all]

    def between(self, start: int, end: int) -> list[Comment]:
        """Comments that start at `start` or later and before `end`."""
        return self.all[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def trailing(self, end: int, limit: int) -> list[Comment]:
        """Comments on the line on which a statement ends at `end`, if they start before `limit`."""
        newline = self.source.find(b"\n", end)
        stop = min(limit, newline if newline >= 0 else len(self.source))
        return self.between(end, stop)

    def before(self, start: int) -> tuple[str, ...]:
        """Lines of the comments directly above `start`, with no blank line or code between."""
        found: list[Comment] = []
        at = start
        for c in reversed(self.all[: bisect_left(self._starts, start)]):
            gap = self.source[c.end : at]
            if gap.strip() or gap.count(b"\n") > 1:
                break
            line_start = self.source.rfind(b"\n", 0, c.start) + 1
            if self.source[line_start : c.start].strip():
                break  # behind code on its line: it speaks of that
            found.append(c)
            at = c.start
        return tuple(line for c in reversed(found) for line in c.lines)


def _lines(text: str) -> tuple[str, ...]:
    """The words of a comment, one entry a line, without markers, frames and blank lines."""
    if text.startswith("//"):
        raw = [re.sub(r"^\s*//[/!]*<?", "", x) for x in _NEWLINE.split(text)]
    else:
        raw = [re.sub(r"^\s*\*+(?!/)", "", x) for x in _NEWLINE.split(text[2:-2].lstrip("*!"))]
    lines = [x.strip() for x in raw]
    return tuple(x for x in lines if x and not _DECORATION.match(x) and not _TOOL_LINE.match(x))
