"""Kernels that stand in a source and that the parser lost to an error: what it did not read must be told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from translator.diag.diagnostic import Sink, Span
from translator.frontend import ast, clang, relations
from translator.frontend.preprocess import record_of

_ENDLESS = "unterminated conditional directive"
_SHOWN = 5  # names in a message
_NO_CODE = re.compile(
    rb'//(?:\\\r?\n|[^\n])*|/\*.*?\*/|R"([^\s()\\]{0,16})\(.*?\)\1"'
    rb"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
_DIRECTIVE = re.compile(rb"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_SWITCH = re.compile(rb"^[ \t]*#[ \t]*if", re.MULTILINE)
_HEAD = re.compile(rb"\b__global__\b((?:(?!\b__global__\b)[^;{}])*)\{")
_BOUNDS = re.compile(rb"\b(?:__launch_bounds__|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_NAME = re.compile(rb"(\w+)\s*(?:<[^()]*>\s*)?\(")


@dataclass(frozen=True, slots=True)
class Lost:
    """The head of a kernel's definition that became none in the tree. `name` is "" where none can be told."""

    path: str
    name: str
    line: int
    cause: clang.ClangError
    missing: tuple[str, ...] = ()  # headers, one of which may define what the parser did not know

    @property
    def place(self) -> tuple[str, str]:
        """What tells it from others, as does the same of a kernel that was read."""
        return str(Path(self.path).resolve()), self.name

    def __str__(self) -> str:
        return f"{self.name or 'a kernel'} (line {self.line})"


def lost_in(unit: clang.Unit) -> list[Lost]:
    """Kernels defined in the unit's own text, outside of branches that are switched off, that its tree
    does not have. None without an error of the parser: then the text only looked like one."""
    if not unit.errors:
        return []
    data = unit.source(unit.path)
    read = [_Body(data, k) for k in clang.kernels_in(unit) if ast.offsets(k.cursor)[0] == unit.path]
    heads = [h for h in _heads(data) if not any(body.has(h.start(), h.end()) for body in read)]
    off = _switched_off(unit) if heads else []
    missing = tuple(relations.missing_headers(unit))
    found = []
    for head in heads:
        if any(start <= head.start() < end for start, end in off):
            continue
        sound = max((b.end for b in read if b.end <= head.start()), default=0)
        name = _NAME.search(_BOUNDS.sub(b" ", head.group(1)))
        line = data.count(b"\n", 0, head.start()) + 1
        spelled = name.group(1).decode("utf-8", "replace") if name else ""
        found.append(Lost(unit.path, spelled, line, _cause(unit, sound), missing))
    return found


def tell(lost: Sequence[Lost], read: set[tuple[str, str]], asked: Sequence[str], sink: Sink) -> None:
    """CP1019 once a file, at the error that the first of its kernels was lost to. Not told are those that
    another unit has `read`, and those not `asked` for by name, where names are."""
    lost = [o for o in lost if o.place not in read and (not asked or o.name in {"", *asked})]
    for path in dict.fromkeys(one.path for one in lost):
        own = [one for one in lost if one.path == path]
        cause = own[0].cause
        shown = ", ".join(map(str, own[:_SHOWN])) + f" and {len(own) - _SHOWN} more" * (len(own) > _SHOWN)
        place = Span(path)
        if Path(cause.path).resolve() == Path(path).resolve():
            place = Span(path, cause.line, cause.column, cause.line, cause.column + 1)
        hint = f"not found: {', '.join(own[0].missing)}" if own[0].missing else ""
        names = " ".join(one.name or "?" for one in own)
        sink.report("CP1019", place, hint=hint, path=path, kernels=shown, error=said(cause), names=names)


def why_none(unit: clang.Unit) -> str:
    """What a unit without kernels should be told besides, "" where there is nothing to add."""
    if unit.errors:
        return f"the parser's first error: {said(_cause(unit, 0))}"
    data = unit.source(unit.path)
    if b"__global__" in data and _SWITCH.search(data):
        return "__global__ occurs in its text: is it switched off by #if?"
    return ""


def said(error: clang.ClangError) -> str:
    """An error with its place, as in `k.cu:3: expected ')'`."""
    return f"{Path(error.path).name}:{error.line}: {error.message}" if error.path else error.message


class _Body:
    """Where a kernel that was read lies in the file's text."""

    def __init__(self, data: bytes, kernel: clang.Kernel) -> None:
        _, self.start, self.end = ast.offsets(kernel.cursor)
        self.name = kernel.cursor.location.offset
        self.brace = data.find(b"{", self.name)

    def has(self, start: int, brace: int) -> bool:
        """Whether a head is this kernel's. One behind the kernel's own brace is another's, lost inside of it;
        what a macro made begins where the macro is used."""
        return self.start <= start <= self.brace or start <= self.name < brace


def _heads(data: bytes) -> Iterator[re.Match[bytes]]:
    code = _NO_CODE.sub(lambda m: re.sub(rb"[^\n]", b" ", m.group()), data)
    return _HEAD.finditer(_DIRECTIVE.sub(lambda m: re.sub(rb"[^\n]", b" ", m.group()), code))


def _switched_off(unit: clang.Unit) -> list[tuple[int, int]]:
    """The branches of `#if` that were not taken; one that has no end was not meant to reach so far."""
    endless = [e.offset for e in unit.errors if e.path == unit.path and e.message == _ENDLESS]
    found = record_of(unit).skipped.get(unit.path, [])
    return [(start, end) for start, end in found if not any(end > at for at in endless)]


def _cause(unit: clang.Unit, sound: int) -> clang.ClangError:
    """The error that what follows offset `sound`, up to which all was read, was lost to. Errors of syntax
    lose what follows; a header that is not there only where nothing else is told."""
    own = [e for e in unit.errors if e.path == unit.path and e.offset >= sound]
    pool = own or list(unit.errors)
    return min(pool, key=lambda e: (not e.syntax, e.message.endswith("file not found")))
