"""What the preprocessor did in a unit: macros, where they are used, text it skipped, order across files."""

from __future__ import annotations

import re
from ctypes import CDLL, POINTER, Structure, c_uint
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

from clang import cindex
from clang.cindex import CursorKind as K

from translator.frontend import ast, clang
from translator.frontend.slice_lines import DROPPED

_RECORD = 0x1  # CXTranslationUnit_DetailedPreprocessingRecord
_HEADERS = str(clang.HEADERS)
_KEPT = 3

Order: TypeAlias = tuple[int, ...]


class _Ranges(Structure):
    _fields_ = (("count", c_uint), ("ranges", POINTER(cindex.SourceRange)))


@dataclass(frozen=True, slots=True)
class Macro:
    """`#define` text after the directive: `N 256` or `F(x) (x)`; `order` as `Record.order`, () for `-D`."""

    name: str
    text: str
    order: Order


@dataclass(slots=True)
class Record:
    """The preprocessing of one unit, for files of the user's."""

    uses: dict[str, list[tuple[int, Macro]]] = field(
        default_factory=dict
    )  # file → (offset, macro), by offset
    macros: dict[str, list[Macro]] = field(default_factory=dict)  # name → definitions in order
    skipped: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    entered: dict[str, Order] = field(default_factory=dict)  # file → where it was first included
    includes: list[str] = field(default_factory=list)  # stub headers that the user's files include

    def order(self, file: str, offset: int) -> Order:
        """A key that sorts places of different files as the compiler meets them."""
        return (*self.entered.get(file, ()), offset)

    def named(self, name: str, before: Order) -> Macro | None:
        """The last definition of a macro before a place, else its first."""
        known = self.macros.get(name, [])
        earlier = [m for m in known if m.order < before]
        return earlier[-1] if earlier else (known[0] if known else None)


_records: list[tuple[clang.Unit, Record]] = []


def record_of(unit: clang.Unit) -> Record:
    """The unit parsed once more with a preprocessing record; kept for the last few units."""
    for known, record in _records:
        if known is unit:
            return record
    options = clang.KEEP_GOING | _RECORD
    with clang.reading():
        tu = cindex.Index.create().parse(
            unit.path, args=list(unit.args), unsaved_files=list(unit.unsaved), options=options
        )
    record = Record()
    _enter(record, unit, tu)
    _macros(record, unit, tu)
    record.skipped = _skipped(tu)
    _records.append((unit, record))
    del _records[:-_KEPT]
    return record


def _enter(record: Record, unit: clang.Unit, tu: Any) -> None:
    record.entered[unit.path] = ()
    for inclusion in tu.get_includes():
        source, name = inclusion.location.file, inclusion.include.name
        if name.startswith(_HEADERS):
            if source is not None and not source.name.startswith(_HEADERS):
                record.includes.append(name.removeprefix(_HEADERS).lstrip("/"))
        elif source is not None and name not in record.entered:
            record.entered[name] = record.order(source.name, inclusion.location.offset)


def _macros(record: Record, unit: clang.Unit, tu: Any) -> None:
    defined: dict[tuple[str, int], Macro] = {}
    for cursor in ast.children(tu.cursor):
        if cursor.kind == K.MACRO_DEFINITION:
            macro = _definition(record, unit, cursor)
            if macro is not None:
                defined[macro.name, cursor.extent.start.offset] = macro
                record.macros.setdefault(macro.name, []).append(macro)
        elif cursor.kind == K.MACRO_INSTANTIATION:
            place = cursor.location
            target = cursor.referenced
            if place.file is None or place.file.name.startswith(_HEADERS) or target is None:
                continue
            used = defined.get((target.spelling, target.extent.start.offset))
            if used is not None and not _in_condition(unit.source(place.file.name), place.offset):
                record.uses.setdefault(place.file.name, []).append((place.offset, used))
        elif cursor.kind != K.INCLUSION_DIRECTIVE:
            break  # the record comes before all declarations
    for known in record.macros.values():
        known.sort(key=lambda m: m.order)
    for uses in record.uses.values():
        uses.sort(key=lambda u: u[0])


def _definition(record: Record, unit: clang.Unit, cursor: Any) -> Macro | None:
    extent = cursor.extent
    file = extent.start.file
    if file is None:
        given = _given(unit).get(cursor.spelling)
        return None if given is None else Macro(cursor.spelling, f"{cursor.spelling} {given}".rstrip(), ())
    if file.name.startswith(_HEADERS):
        return None
    text = unit.source(file.name)[extent.start.offset : extent.end.offset].decode("utf-8", "replace")
    return Macro(cursor.spelling, text, record.order(file.name, extent.start.offset))


def _given(unit: clang.Unit) -> dict[str, str]:
    """Macros of the command line: name (with parameters cut) → replacement."""
    found = {}
    for arg in unit.args:
        if arg.startswith("-D"):
            name, has_value, value = arg[2:].partition("=")
            found[re.split(r"\W", name, maxsplit=1)[0]] = value if has_value else "1"
    return found


@cache
def _lib() -> Any:
    lib = CDLL("", handle=cindex.conf.lib._handle)
    lib.clang_getAllSkippedRanges.restype = POINTER(_Ranges)
    lib.clang_disposeSourceRangeList.argtypes = [POINTER(_Ranges)]
    lib.clang_disposeSourceRangeList.restype = None
    return lib


def _skipped(tu: Any) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    ranges = _lib().clang_getAllSkippedRanges(tu)
    if not ranges:
        return found
    for position in range(ranges.contents.count):
        one = ranges.contents.ranges[position]
        file = one.start.file
        if file is not None and not file.name.startswith(_HEADERS):
            found.setdefault(file.name, []).append((one.start.offset, one.end.offset))
    _lib().clang_disposeSourceRangeList(ranges)
    return found


_CONDITIONAL = re.compile(rb"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")


def _in_condition(data: bytes, offset: int) -> bool:
    return _CONDITIONAL.match(data, data.rfind(b"\n", 0, offset) + 1) is not None


def as_compiled(record: Record, file: str, data: bytes, start: int, end: int) -> bytes:
    """Bytes [start, end) of a file without the branches of `#if` that were not taken.

    Text without such directives comes back unchanged; elsewhere a mark stands for each line left out.
    """
    text = data[start:end]
    if not re.search(rb"^" + _CONDITIONAL.pattern, text, re.M):
        return text
    ranges = record.skipped.get(file, [])
    kept: list[bytes] = []
    offset = start
    continued = False
    for line in text.splitlines(keepends=True):
        is_directive = continued or (_CONDITIONAL.match(line) is not None and offset != start)
        is_skipped = any(a < offset < b for a, b in ranges)
        continued = is_directive and line.rstrip(b"\r\n").endswith(b"\\")
        if not is_directive and not is_skipped:
            kept.append(line)
        else:
            kept.append(DROPPED.encode())
        offset += len(line)
    return b"".join(kept)
