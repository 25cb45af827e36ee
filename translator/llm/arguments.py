"""The arguments of a tool call: JSON as models write it, mended only where one reading is possible.

What is mended: a code fence around it, line breaks inside strings, commas before a closing bracket, single
quotes, bare keys, Python's True, False and None, a JSON text inside a JSON string, closing brackets that are
missing at the very end. A string that never ends is not: nobody knows what was in the rest of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from translator.llm.messages import Problem, Tool

LONGEST = 4 * 2**20  # characters
_DEEPEST = 50
_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
_SPACE = re.compile(r"\s*")
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_BARE = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,4})?(?![\w.])")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments, and what had to be mended to read them."""

    values: Mapping[str, object]
    mended: tuple[str, ...] = ()


class _BrokenError(Exception):
    pass


def parse(text: str, tool: Tool | None = None) -> Arguments | Problem:
    """The object that `text` means, checked against the tool's schema (names, required ones, plain types), or
    what to tell the model. Never raises."""
    try:
        values, mended = _object(text)
        if tool is not None:
            _check(values, tool)
    except _BrokenError as error:
        return _problem(str(error), tool)
    except RecursionError:
        return _problem("it is nested too deeply", tool)
    return Arguments(values, tuple(dict.fromkeys(mended)))


def _problem(reason: str, tool: Tool | None) -> Problem:
    name = f"`{tool.name}`" if tool else "the tool"
    wanted = ""
    if tool is not None:
        names = ", ".join(f'"{n}"' for n in _properties(tool))
        wanted = f" with the keys {names}" if names else ""
    say = (
        f"Your call of {name} can't be read: {reason}. Call it again with one JSON object{wanted}: double "
        'quotes, line breaks in strings as \\n, quotes in strings as \\", no comma after the last item.'
    )
    return Problem.of("CP5327", say, reason=reason)


def _object(text: str) -> tuple[dict[str, Any], list[str]]:
    if len(text) > LONGEST:
        raise _BrokenError(f"it has {len(text)} characters")
    mended: list[str] = []
    text = text.lstrip("\ufeff")
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1]
        mended.append("a code fence around it")
    if not text.strip():
        return {}, mended  # a tool without arguments: most endpoints send nothing
    value: Any = text
    for depth in range(3):
        if not isinstance(value, str):
            break
        if depth:
            mended.append("JSON inside a JSON string")
        value, more = _value(value)
        mended += more
    if not isinstance(value, dict):
        raise _BrokenError(f"it is {_kind(value)}, not an object")
    return value, mended


def _value(text: str) -> tuple[Any, list[str]]:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_constant), []
    except ValueError:  # also a number of too many digits
        reader = _Reader(text)
        return reader.whole(), reader.mended


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise _BrokenError(f"it has the key {twice[:60]!r} twice")
    return made


def _constant(name: str) -> Any:
    raise _BrokenError(f"{name} is no JSON")


class _Reader:
    """Reads JSON with the slips that `parse` forgives; raises _BrokenError with the place of any other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.mended: list[str] = []

    def whole(self) -> Any:
        value = self._value(0)
        self._skip()
        if self.at < len(self.text):
            raise self._broken("there is more after its end")
        return value

    def _broken(self, what: str) -> _BrokenError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        return _BrokenError(f"{what}, at line {line}, column {column}")

    def _skip(self) -> str:
        """The next character that is no space, or "" at the end."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def _value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self._broken("it is nested too deeply")
        first = self._skip()
        if not first:
            raise self._broken("it ends where a value should be")
        if first == "{":
            return self._members(depth)
        if first == "[":
            return self._items(depth)
        if first in _PLAIN:
            return self._string(first)
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return json.loads(number[0])
        word = _BARE.match(self.text, self.at)
        if word is None or word[0] not in _WORDS:
            raise self._broken("no value starts here")
        self.at = word.end()
        if word[0][0].isupper():
            self.mended.append("True, False or None")
        return _WORDS[word[0]]

    def _members(self, depth: int) -> dict[str, Any]:
        self.at += 1
        pairs: list[tuple[str, Any]] = []
        while not self._closed("}", bool(pairs)):
            pairs.append(self._member(depth))
        return _unique(pairs)

    def _member(self, depth: int) -> tuple[str, Any]:
        first = self._skip()
        if first in _PLAIN:
            key = self._string(first)
        elif bare := _BARE.match(self.text, self.at):
            key = bare[0]
            self.at = bare.end()
            self.mended.append("a key without quotes")
        else:
            raise self._broken("a key should stand here" if first else "it ends where a key should be")
        if self._skip() != ":":
            raise self._broken(f"a colon should follow the key {key[:40]!r}")
        self.at += 1
        return key, self._value(depth + 1)

    def _items(self, depth: int) -> list[Any]:
        self.at += 1
        items: list[Any] = []
        while not self._closed("]", bool(items)):
            items.append(self._value(depth + 1))
        return items

    def _closed(self, bracket: str, has_items: bool) -> bool:
        """Past the closing bracket, or past the comma to the next item."""
        first = self._skip()
        if first == "," and has_items:
            self.at += 1
            first = self._skip()
            if first == bracket:
                self.mended.append("a comma before a closing bracket")
            elif not first:
                raise self._broken("it ends after a comma")  # another item was to come
            else:
                return False
        elif first and first != bracket and has_items:
            raise self._broken(f"a comma or {bracket} should stand here")
        if not first:
            if not has_items:
                raise self._broken("it ends before its first item")
            self.mended.append("closing brackets missing at the end")
            return True
        if first == bracket:
            self.at += 1
            return True
        return False

    def _string(self, quote: str) -> str:
        start = self.at
        self.at += 1
        parts: list[str] = []
        while True:
            run = _PLAIN[quote].match(self.text, self.at)
            if run is None or run.end() >= len(self.text):
                self.at = start
                raise self._broken("a string starts that never ends")
            parts.append(run[0])
            self.at = run.end() + 1
            if self.text[self.at - 1] == quote:
                break
            parts.append(self._escaped())
        if quote == "'":
            self.mended.append("single quotes")
        text = "".join(parts)
        if any(c in text for c in "\n\t\r"):
            raw = self.text[start : self.at]
            if any(c in raw for c in "\n\t\r"):
                self.mended.append("a line break or tab inside a string")
        follows = self._skip()
        if follows and follows not in ",:}]":
            raise self._broken(
                "a string ends before this, and neither comma nor bracket follows (a quote in it?)"
            )
        return text

    def _escaped(self) -> str:
        """What the escape after the backslash just passed stands for."""
        letter = self.text[self.at : self.at + 1]
        if letter in _ESCAPES and letter:
            self.at += 1
            return _ESCAPES[letter]
        code = self.text[self.at + 1 : self.at + 5]
        if letter == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", code):
            self.at += 5
            return chr(int(code, 16))
        raise self._broken(f"\\{letter} is no escape of JSON")


def _properties(tool: Tool) -> dict[str, Any]:
    found = tool.parameters.get("properties")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _check(values: Mapping[str, object], tool: Tool) -> None:
    known = _properties(tool)
    required = tool.parameters.get("required")
    missing = [n for n in required if n not in values] if isinstance(required, (list, tuple)) else []
    if missing:
        raise _BrokenError(f"it lacks {', '.join(map(repr, missing))}")
    for name, value in values.items():
        if name not in known:
            if tool.parameters.get("additionalProperties") is False:
                raise _BrokenError(f"it has the unknown key {name[:60]!r}")
            continue
        wanted = known[name].get("type") if isinstance(known[name], dict) else None
        fits = _TYPES.get(wanted) if isinstance(wanted, str) else None
        if fits is None:
            continue
        if not isinstance(value, fits) or (isinstance(value, bool) and wanted != "boolean"):
            raise _BrokenError(f"{name!r} is {_kind(value)}, and should be of type {wanted}")


def _kind(value: object) -> str:
    for name, kind in (("boolean", bool), ("string", str), ("list", list), ("object", dict)):
        if isinstance(value, kind):
            return f"an {name}" if name == "object" else f"a {name}"
    return "null" if value is None else "a number"
