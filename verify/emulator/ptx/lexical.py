"""PTX text before it has a meaning: comments, lines, names, numbers and quoted lists."""

from __future__ import annotations

import re
from bisect import bisect_right

from verify.emulator.ptx.module import PtxError

NAME = r"(?:[A-Za-z][\w$]*+|[_$%][\w$]++)"

_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/|/\*|"', re.DOTALL)


class Text:
    """PTX without its comments, and the line (from 1) of every place in it."""

    def __init__(self, text: str) -> None:
        self.text = _COMMENT.sub(_blank, text) if "/" in text or '"' in text else text
        self._starts = [0, *(m.end() for m in re.finditer("\n", self.text))]

    def line(self, at: int) -> int:
        """The line that holds the character `at`."""
        return bisect_right(self._starts, at)

    def past_space(self, at: int) -> int:
        """The first place from `at` on that is not white space; the length of the text if there is none."""
        found = _INK.search(self.text, at)
        return found.start() if found else len(self.text)

    def error(self, message: str, at: int, code: str = "CP7101") -> PtxError:
        """A PtxError that points at the first word from `at` on."""
        return PtxError(code, message, self.line(min(self.past_space(at), max(len(self.text) - 1, 0))))


_INK = re.compile(r"\S")


def _blank(found: re.Match[str]) -> str:
    """What stands for a comment: nothing, or as many line ends as it held. Strings stay."""
    said = found[0]
    if said[0] == '"' and len(said) > 1:
        return said
    if said == '"' or said == "/*":
        what = "string" if said == '"' else "comment"
        raise PtxError("CP7101", f"{what} without an end", found.string.count("\n", 0, found.start()) + 1)
    return " " + "\n" * said.count("\n")


def split(text: str) -> list[str]:
    """The parts of a comma-separated list, stripped; commas in brackets don't count. Blank text: no parts."""
    if not text.strip():
        return []
    if "{" not in text and "[" not in text and "(" not in text:
        return [part.strip() for part in text.split(",")]
    parts: list[str] = []
    depth = start = 0
    for found in _SPLIT.finditer(text):
        mark = found[0]
        if mark == ",":
            if not depth:
                parts.append(text[start : found.start()].strip())
                start = found.end()
        elif mark in "{[(":
            depth += 1
        else:
            depth -= 1
            if depth < 0:
                break
    if depth:
        raise PtxError("CP7101", f"unbalanced brackets in {brief(text)}")
    parts.append(text[start:].strip())
    return parts


_SPLIT = re.compile(r"[,{}\[\]()]")


def brief(text: str) -> str:
    """The text on one line, cut where it is long."""
    flat = " ".join(text[:400].split())
    return flat if len(flat) <= 100 else flat[:97] + "..."
