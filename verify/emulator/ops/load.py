"""Finds opcodes in the tables. The tables are the whitelist: what is not in them is refused.

A kernel uses a few dozen of many thousand opcodes, so rows are read when an opcode's family is first asked
for, and patterns are matched rather than expanded.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from verify.emulator.ops.rule import Op, Pattern, parse_pattern, resolve
from verify.emulator.ptx.module import PtxError

TABLES = Path(__file__).parent / "tables"
_ROW = re.compile(r"^\[\[op\]\]\n", re.MULTILINE)
_FIRST = re.compile(r'op = "((\w+)[^"]*)"\n')
# Families in which the order of modifiers has a meaning.
_PHASED = frozenset({"cp", "mma", "wgmma", "wmma", "mbarrier", "createpolicy", "fence"})
_KEYS = {"op", "sig", "c", "by", "approx", "second", "statement", "shape", "target", "fields", "note"}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table.

    Keys of the file: `op` the pattern, `sig` the signature, spaces between; `c`, `by`, `approx`, `second`,
    `statement`, `shape`, `target` as in Op; `fields` more fields for the handler; `note` for readers.
    """

    pattern: Pattern
    toml: str

    @property
    def values(self) -> Mapping[str, Any]:
        """The row, read when it is first needed: most rows of a family never match."""
        return _read(self.toml)

    def op(self, name: str, fields: dict[str, str]) -> Op:
        """The opcode with those fields."""
        maps = _words()[1]

        values = self.values

        def text(key: str) -> str:
            return resolve(values.get(key, ""), fields, maps)

        return Op(
            name=name,
            signature=tuple(text("sig").split()),
            c=text("c") or None,
            by=values.get("by"),
            fields={**values.get("fields", {}), **fields},
            approximate=text("approx"),
            second=text("second") or None,
            statement=values.get("statement", False),
            shape=values.get("shape", ""),
            target=values.get("target", "sm_90"),
        )


def find(op: str, shape: str = "") -> Op:
    """The opcode `op`, by the manual's order of modifiers (its name may differ from `op` in that alone).

    `shape` tells rows of one name apart by their operands (`pack2`, `unpack2` … of mov).
    PtxError CP7103 where the whitelist lacks it.
    """
    found = _find(op, shape)
    if found is None:
        raise PtxError("CP7103", f"{op}{f' ({shape})' if shape else ''} is not supported")
    return found


def names() -> list[str]:
    """Every full opcode of the whitelist, sorted. Slow: it expands all rows."""
    return sorted({name for row in rows() for name, _ in row.pattern.expand()})


def pure() -> Iterator[Op]:
    """Every opcode that is C alone, in the order of the tables, each shape for itself."""
    for row in rows():
        if "c" in row.values:
            for name, fields in row.pattern.expand():
                yield row.op(name, fields)


def rows() -> Iterator[Row]:
    """All rows of all tables."""
    for family in _families():
        yield from _family(family)


@cache
def special(name: str) -> str:
    """The type of special register `name` (`%tid.x`: `u32`). PtxError CP7103 where it isn't supported."""
    types: dict[str, str] = _words()[2]
    if name not in types:
        raise PtxError("CP7103", f"special register {name} is not supported")
    return types[name]


@cache
def _find(op: str, shape: str) -> Op | None:
    family = _family(op.partition(".")[0])
    for row in family:
        fields = row.pattern.match(op)
        if fields is not None and row.values.get("shape", "") == shape:
            return row.op(op, fields)
    # Handwritten assembly has modifiers in other orders (`atom.add.acq_rel.gpu.u32`); ptxas takes them too.
    for row in family:
        name = row.pattern.reordered(op)
        if name is not None and name != op and name.split(".")[-1] == op.split(".")[-1] and _is_free(name):
            return _find(name, shape)
    return None


def _is_free(name: str) -> bool:
    """Whether the order of the modifiers says nothing: not so where they name phases or directions."""
    return name.partition(".")[0] not in _PHASED and ".async" not in name


@cache
def _words() -> tuple[dict[str, str], dict[str, dict[str, str]], dict[str, str]]:
    """Sets of alternatives, maps of templates, types of special registers."""
    words = tomllib.loads((TABLES / "words.toml").read_text())
    specials = {name: kind for kind, row in words["special"].items() for name in row}
    return words["sets"], words["maps"], specials


@cache
def _families() -> dict[str, list[tuple[str, str]]]:
    """Pattern and text of each row, by the family (the opcode up to its first dot)."""
    families: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(TABLES.glob("*.toml")):
        for text in _ROW.split(path.read_text())[1:]:
            first = _FIRST.match(text)
            if first is None:
                raise ValueError(f"{path.name}: a row must begin with its op: {text[:60]}")
            families.setdefault(first[2], []).append((first[1], text))
    return families


@cache
def _family(name: str) -> tuple[Row, ...]:
    sets = _words()[0]
    return tuple(Row(parse_pattern(pattern, sets), text) for pattern, text in _families().get(name, ()))


@cache
def _read(text: str) -> Mapping[str, Any]:
    values = tomllib.loads(text)
    if unknown := set(values) - _KEYS:
        raise ValueError(f"{values['op']}: unknown keys {sorted(unknown)}")
    if "c" not in values and "by" not in values:
        raise ValueError(f"{values['op']}: neither c nor by")
    return values
