"""An opcode of the whitelist, and the notation in which the tables write families of opcodes.

A pattern is literal text with groups: `add<r:|.rn|.rz><z:|.ftz>.f32`. A group `<name:a|b|>` is one of its
alternatives (the empty one too); `@set` among them stands for the alternatives of that set. What a group
took, without its leading dot, is the field of its name.

A template (the C text, the signature, the bound) refers to fields:
`<t>` the field · `<r:rn>` the field, `rn` where it is empty · `<t.wide>` the field in the map `wide`
`<z?x>` x where the field is not empty · `<z?x!y>` x, or y where it is empty.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_REFERENCE = re.compile(r"<(\w+)(?:\.(\w+))?(?:([:?])([^<>!]*)(?:!([^<>]*))?)?>")
_ORDERED = re.compile(r"(?:[busf]|bf|tf|e\dm)\d|row$|col$|global$|shared\b|local$|param\b|const$|L2::evict")
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Op:
    """One full opcode.

    name         `add.rn.ftz.f32`
    signature    one entry per operand, `role:type`. Roles: `d` destination (`d|p`: a pair `d|p` may stand
                 there), `a b c e f` sources, `?` after the role: may be missing. Types are PTX's; `v2.b16` is
                 a vector of two, whose elements are `{a0}` and `{a1}`; `imm` a constant; `addr` an address
    c            pure ops: C expression of `d`'s bits; where `statement`, a statement that assigns `{d0}` …
    second       C expression of the second destination, where a pair `d|p` may stand
    by           other ops: name of the emitter's handler, which reads `fields`. mov has both: its handler
                 knows addresses and vectors, `c` says what it does to bits
    approximate  documented error of an approximate op: `2 ulp`, `2^-22 rel`, `2^-20.5 abs`, joined by ` or `
    shape        operands that tell this row from others of the same name: `pack2`, `unpack4` (mov)
    target       the first architecture that has it
    """

    name: str
    signature: tuple[str, ...]
    c: str | None = None
    by: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    approximate: str = ""
    second: str | None = None
    statement: bool = False
    shape: str = ""
    target: str = "sm_90"

    def text(self, operands: Mapping[str, str]) -> str:
        """`c` with its placeholders filled. KeyError where an operand is missing."""
        assert self.c is not None
        return fill(self.c, operands)

    def second_text(self, operands: Mapping[str, str]) -> str:
        """`second` with its placeholders filled."""
        assert self.second is not None
        return fill(self.second, operands)


def fill(template: str, operands: Mapping[str, str]) -> str:
    """Replaces `{a}` by the operand of that name, in parentheses where it isn't one word."""

    def text(match: re.Match[str]) -> str:
        value = operands[match[1]]
        return value if value.isidentifier() else f"({value})"

    return _PLACE.sub(text, template)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern: (name or "" for fixed text, alternatives) in order."""

    parts: tuple[tuple[str, tuple[str, ...]], ...]

    def match(self, op: str) -> dict[str, str] | None:
        """The fields with which the pattern is exactly `op`; None where it is not."""
        return self._match(op, 0, 0)

    def _match(self, op: str, at: int, part: int) -> dict[str, str] | None:
        if part == len(self.parts):
            return {} if at == len(op) else None
        name, alternatives = self.parts[part]
        for text in alternatives:
            end = at + len(text)
            # A modifier ends at a dot: `.s16` is not the start of `.s16x2`.
            if op.startswith(text, at) and (end == len(op) or op[end] in ".:" or not text):
                rest = self._match(op, end, part + 1)
                if rest is not None:
                    if name:
                        rest[name] = text.removeprefix(".")
                    return rest
        return None

    def reordered(self, op: str) -> str | None:
        """The pattern's own spelling of `op`, where the two differ in the order of modifiers alone.

        Types, state spaces and layouts keep their order, since it says which operand they are of.
        """
        words = op.split(".")
        return self._reordered(words, 0)

    def _reordered(self, left: list[str], part: int) -> str | None:
        if part == len(self.parts):
            return None if left else ""
        for text in self.parts[part][1]:
            rest = _without(left, text.removeprefix(".").split(".") if text else [])
            if rest is not None:
                tail = self._reordered(rest, part + 1)
                if tail is not None:
                    return text + tail
        return None

    def expand(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Every opcode the pattern stands for, with its fields."""
        for choice in itertools.product(*(alternatives for _, alternatives in self.parts)):
            fields = {
                name: text.removeprefix(".")
                for (name, _), text in zip(self.parts, choice, strict=True)
                if name
            }
            yield "".join(choice), fields


def _without(words: list[str], taken: list[str]) -> list[str] | None:
    """`words` less those of `taken`; None where one is lacking or out of its order."""
    left = list(words)
    for word in taken:
        ordered = [w for w in left if _ORDERED.match(w)]
        if word not in left or (_ORDERED.match(word) and ordered[0] != word):
            return None
        left.remove(word)
    return left


def parse_pattern(text: str, sets: Mapping[str, str]) -> Pattern:
    """Reads the notation. ValueError for an unknown set or an unclosed group."""
    parts: list[tuple[str, tuple[str, ...]]] = []
    for piece in re.split(r"(<[^<>]*>)", text):
        if piece.startswith("<"):
            name, _, alternatives = piece[1:-1].partition(":")
            parts.append((name, _alternatives(alternatives, sets)))
        elif piece:
            if "<" in piece or ">" in piece:
                raise ValueError(f"unclosed group in {text}")
            parts.append(("", (piece,)))
    return Pattern(tuple(parts))


def _alternatives(text: str, sets: Mapping[str, str]) -> tuple[str, ...]:
    found: list[str] = []
    for one in text.split("|"):
        if one.startswith("@"):
            if one[1:] not in sets:
                raise ValueError(f"unknown set {one}")
            found += _alternatives(sets[one[1:]], sets)
        else:
            found.append(one)
    return tuple(found)


def resolve(template: str, fields: Mapping[str, str], maps: Mapping[str, Mapping[str, str]]) -> str:
    """A template with the fields put in. ValueError for an unknown field or a value that a map lacks."""

    def text(match: re.Match[str]) -> str:
        name, lookup, kind, first, other = match.groups()
        if name not in fields:
            raise ValueError(f"unknown field {name} in {template}")
        value = fields[name]
        if lookup:
            if value not in maps.get(lookup, {}):
                raise ValueError(f"map {lookup} lacks {value!r}")
            return maps[lookup][value]
        if kind == "?":
            return first if value else other or ""
        return value or first or ""

    return _REFERENCE.sub(text, template)
