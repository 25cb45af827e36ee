"""The fenced blocks of an answer, and what of it was only thought aloud."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_OPEN = re.compile(r"([ \t]*+(?:>[ \t]*+)?)(`{3,}+|~{3,}+)[ \t]*+([^\s`]*+)[^`]*+")
_EXTENTS = 4  # fences at which a block may end whose code has fences in it
_AHEAD = 16  # fences that are looked through for an end
_FENCES = 2000  # the last ones of an answer; a real one has a few
_THOUGHT_ENDS = ("</think>", "</thinking>", "</reasoning>", "<|channel|>final<|message|>", "[/THINK]")
_THOUGHT_STARTS = ("<think>", "<thinking>", "<reasoning>", "<|channel|>analysis<|message|>", "[THINK]")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, or a text taken for one. `whole` is False where no fence ends it."""

    language: str
    whole: bool
    lines: list[str] = field(repr=False)
    first: int
    ends: tuple[int, ...]
    indent: str = ""

    def texts(self) -> Iterator[str]:
        """The texts it may have, shortest first, without the fences' indentation: a fence may stand in a
        string of the code, and the block end at a later one. Made when asked for: an answer may have many
        blocks."""
        for end in self.ends:
            yield "\n".join(_dedented(self.lines[self.first : end], self.indent))


def bare(text: str) -> Block:
    """A text without fences."""
    lines = text.split("\n")
    return Block("", True, lines, 0, (len(lines),))


def spoken(text: str) -> str | None:
    """`text` after what was thought aloud; None where it never comes out of its thoughts."""
    at = max(text.rfind(end) + len(end) if end in text else 0 for end in _THOUGHT_ENDS)
    rest = text[at:]
    return None if rest.lstrip().startswith(_THOUGHT_STARTS) else rest


def blocks(text: str) -> list[Block]:
    """All fenced blocks in order. Lines of `text` end with a newline only."""
    lines = text.split("\n")
    marked = (n for n, line in enumerate(lines) if "```" in line or "~~~" in line)
    fences = [(n, m) for n in marked if (m := _OPEN.fullmatch(lines[n])) is not None][-_FENCES:]
    found: list[Block] = []
    place = 0
    while place < len(fences):
        number, opening = fences[place]
        mark, language = opening[2], opening[3].lower()
        ahead = fences[place + 1 : place + 1 + _AHEAD]
        closing = [
            (later, n)
            for later, (n, m) in enumerate(ahead, place + 1)
            if not m[3] and m[2][0] == mark[0] and len(m[2]) >= len(mark)
        ]
        inner = next((later for later, (_, m) in enumerate(ahead, place + 1) if m[3]), len(fences))
        if closing:
            ends = tuple(n for _, n in closing[:_EXTENTS])
            found.append(Block(language, True, lines, number + 1, ends, opening[1]))
            # A fence with a language before the end opens a block too: perhaps this one was never closed.
            place = min(inner, closing[0][0] + 1)
        else:
            end = fences[inner][0] if inner < len(fences) else len(lines)
            found.append(Block(language, False, lines, number + 1, (end,), opening[1]))
            place = inner
    return found


def _dedented(lines: list[str], indent: str) -> Iterator[str]:
    for line in lines:
        cut = 0
        while cut < len(indent) and line[cut : cut + 1] == indent[cut]:
            cut += 1
        yield line[cut:]
