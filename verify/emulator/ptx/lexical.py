"""PTX text before it has a meaning: comments, lines, names, numbers and quoted lists."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right

from verify.emulator.ptx.module import Imm, PtxError

NAME = r"(?:[A-Za-z][\w$]*+|[_$%][\w$]++)"

_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/|/\*|"', re.DOTALL)
_INT = re.compile(
    r"(-?)\s*+(?:0[xX]([0-9a-fA-F]{1,40})|0[bB]([01]{1,80})|(0[0-7]{0,40})|([1-9]\d{0,40}))U?", re.ASCII
)
_BITS = re.compile(r"(-?)\s*+0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))", re.ASCII)
_DECIMAL = re.compile(r"-?\s*+(?:\d++\.\d*|\.\d++|\d++(?=[eE]))(?:[eE][+-]?\d{1,4})?", re.ASCII)


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


def integer(text: str) -> int | None:
    """The value of an integer as PTX writes it (decimal, 0x…, 0b…, octal 0…, suffix U), else None.

    PtxError CP7101 if it doesn't fit in 64 bits.
    """
    found = _INT.fullmatch(text)
    if not found:
        return None
    sign, *digits = found.groups()
    value = next(int(part, base) for part, base in zip(digits, (16, 2, 8, 10), strict=True) if part)
    value = -value if sign else value
    if not -(2**63) <= value < 2**64:
        raise PtxError("CP7101", f"the number {text} does not fit in 64 bits")
    return value


def number(text: str) -> Imm | None:
    """A constant: an integer, `0f…`, `0d…`, or a decimal float (double precision). Else None."""
    value = integer(text)
    if value is not None:
        return Imm(value)
    if found := _BITS.fullmatch(text):
        sign, single, double = found.groups()
        if single:
            return Imm(int(single, 16) ^ (1 << 31 if sign else 0), "f32")
        return Imm(int(double, 16) ^ (1 << 63 if sign else 0), "f64")
    if _DECIMAL.fullmatch(text):
        return Imm(struct.unpack("<Q", struct.pack("<d", float("".join(text.split()))))[0], "f64")
    return None


def brief(text: str) -> str:
    """The text on one line, cut where it is long."""
    flat = " ".join(text[:400].split())
    return flat if len(flat) <= 100 else flat[:97] + "..."
