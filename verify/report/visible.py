"""Text of unknown origin made fit to be looked at: nothing in it is unseen, reorders its surroundings or
breaks a document. Escaping for HTML is the template's work."""

from __future__ import annotations

import codecs
import re

# C0 and DEL have pictures; C1, lone surrogates, what reorders a line and what has no width get a number.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_UNSEEN = re.compile(
    "[\x80-\x9f\ud800-\udfff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """`text` with every character to be seen, tabs and newlines left as they are."""
    text = _CONTROL.sub(lambda m: chr(0x2421 if m[0] == "\x7f" else 0x2400 + ord(m[0])), text)
    return _UNSEEN.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def lines_of(data: bytes) -> list[str]:
    """The lines of a source, as compilers count them; bytes that are no UTF-8 stand as `\\xff`."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    data = data.removeprefix(codecs.BOM_UTF8)
    text = data.decode("utf-16" if wide else "utf-8", "replace" if wide else "backslashreplace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = visible(text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines
