"""Text of unknown origin inside a prompt: fenced, labelled, inert. All values of a prompt pass through here.

A source is data, and may be made to look like something else: a turn of the conversation, the end of its
fence, an instruction. Nothing is left out of it, but

    what can't be seen or reorders lines   stands as <U+202E>
    tokens of chat formats (<|im_start|>)  are broken by a space, since some servers read them in any text
    the prompt's own marker                likewise
    a very long line                       is cut in its middle, and says so
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

_LONGEST = 8_000  # characters of a line of data
_LONGEST_WORD = 600  # characters of a value within a sentence
_LONGEST_MESSAGE = 6_000  # characters of what a tool said
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_KEPT = "\n\t"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# What the chat templates of common models are made of.
_CHAT = re.compile(
    r"<(?=[|\uff5c])|[|\uff5c](?=>)|<(?=/?s>)|<(?=/?(?:start_of_turn|end_of_turn|bos|eos|think|tool_call)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS)\])|<(?=<SYS>>|</SYS>>)",
    re.IGNORECASE,
)
_MARKER_SIZE = 12


class Safe(str):
    """Text that may stand in a prompt as it is: a template's own, or fenced by `Fencing`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Fencing:
    """Puts data between lines that carry `marker`, which nothing inside them has."""

    marker: str

    def block(self, name: str, text: str, language: str = "", note: str = "") -> Safe:
        """`text` as a section called `name`: DATA, a fence longer than any in it, END."""
        inner = self._without_marker(readable(text).rstrip("\n"))
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", inner)), default=0))
        head = f"DATA {self.marker} {name}" + (f": {self.word(note)}" if note else "")
        return Safe(f"{head}\n{fence}{language}\n{inner}\n{fence}\nEND {self.marker} {name}")

    def word(self, value: object) -> str:
        """A value within a sentence: one line, nothing that ends code in backticks, not long."""
        text = self._without_marker(" ".join(readable(str(value)).split()).replace("`", "'"))
        return text if len(text) <= _LONGEST_WORD else f"{text[: _LONGEST_WORD - 1]}…"

    def _without_marker(self, text: str) -> str:
        return text.replace(self.marker, f"{self.marker[:6]} {self.marker[6:]}")


def readable(text: str) -> str:
    """`text` with lines that end in \\n, nothing unseen in it and no token of a chat format."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for c in sorted(set(text)):
        if not _plain(c):
            text = text.replace(c, f"<U+{ord(c):04X}>")
    text = _CHAT.sub(lambda m: f"{m[0]} ", text)
    if len(text) > _LONGEST:
        text = "\n".join(map(_shortened, text.split("\n")))
    return text


def message_text(text: str) -> str:
    """What a tool said, without its colours; of a long text the first and the last part."""
    text = _COLOUR.sub("", text)
    if len(text) <= _LONGEST_MESSAGE:
        return text
    half = _LONGEST_MESSAGE // 2
    return f"{text[:half]}\n<{len(text) - 2 * half} characters left out>\n{text[-half:]}"


def marker_of(texts: Iterable[str]) -> str:
    """A marker that none of `texts` has; the same for the same texts."""
    held = list(texts)
    seed = hashlib.sha256("\0".join(held).encode("utf-8", "surrogatepass"))
    while True:
        marker = seed.hexdigest()[:_MARKER_SIZE]
        if not any(marker in t for t in held):
            return marker
        seed.update(b"again")


def _plain(character: str) -> bool:
    return character in _KEPT or unicodedata.category(character) not in _HIDDEN


def _shortened(line: str) -> str:
    if len(line) <= _LONGEST:
        return line
    half = _LONGEST // 2
    return f"{line[:half]} <{len(line) - 2 * half} characters left out> {line[-half:]}"
