"""Reads a CUDA translation unit with libclang and the stub headers beside this file; no toolkit needed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from clang import cindex

from translator.diag.diagnostic import Span
from translator.frontend import ast

HEADERS = Path(__file__).parent / "headers"
PRELUDE = HEADERS / "device" / "prelude.h"
_SYNTAX = "Parse Issue"  # the compiler's name for this kind of error
KEEP_GOING = 0x200  # a missing header must not end the parse

FLAGS = (
    *("-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90"),
    # a toolkit on the machine would change what is an error: as if there were none, on every machine
    *("--cuda-path=/nonexistent", "-Xclang", "-fcuda-allow-variadic-functions"),
    *("-nocudainc", "-nocudalib", "-nobuiltininc", "-nostdinc", "-nostdinc++"),
    *("-ferror-limit=0", "-Wno-everything", "-fno-spell-checking", "-fbracket-depth=2048"),
    # the author's compiler is nvcc, which takes none of the branches for clang
    *(f"-U__{name}__" for name in ("clang", "clang_major", "clang_minor", "clang_patchlevel", "llvm")),
    *("-include", str(PRELUDE)),
)


@dataclass(frozen=True, slots=True)
class ClangError:
    """An error of the compiler; `offset` is in bytes of the file, `within` the instantiations it arose in.

    `syntax` tells what breaks the grammar from what breaks a rule of the language.
    """

    path: str
    line: int
    column: int
    offset: int
    message: str
    within: tuple[str, ...] = ()
    syntax: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """A `__global__` function definition in a user's file.

    `template_params` holds (kind, name, default text) with kind "type", "value" or "template".
    """

    cursor: Any
    name: str
    qualified_name: str
    path: str
    line: int
    end_line: int
    is_template: bool
    template_params: tuple[tuple[str, str, str], ...] = ()


@dataclass
class Unit:
    """One parsed translation unit."""

    path: str
    tu: Any
    errors: tuple[ClangError, ...]
    sources: dict[str, bytes] = field(default_factory=dict)  # unsaved texts, and files read so far
    args: tuple[str, ...] = ()  # the compiler's arguments
    unsaved: tuple[tuple[str, str], ...] = ()  # texts that stood for files

    def source(self, path: str) -> bytes:
        """The bytes of `path` as the compiler saw them; empty if it can't be read."""
        if path not in self.sources:
            try:
                self.sources[path] = Path(path).read_bytes()
            except OSError:
                self.sources[path] = b""
        return self.sources[path]

    @property
    def text(self) -> str:
        """The unit's own text; bytes that are not UTF-8 are replaced."""
        return self.source(self.path).decode("utf-8", "replace")

    @cached_property
    def top_level(self) -> tuple[Any, ...]:
        """Declarations outside the stub headers, in order."""
        return ast.children_after(self.tu.cursor, "cuteport_end_of_prelude")

    @cached_property
    def _error_index(self) -> dict[str, tuple[list[int], list[ClangError]]]:
        index: dict[str, tuple[list[int], list[ClangError]]] = {}
        for e in sorted(self.errors, key=lambda e: e.offset):
            offsets, found = index.setdefault(e.path, ([], []))
            offsets.append(e.offset)
            found.append(e)
        return index

    def errors_in(self, path: str, start: int, end: int) -> Sequence[ClangError]:
        """Errors at byte offsets `start` to `end` of `path`."""
        if path not in self._error_index:
            return ()
        offsets, found = self._error_index[path]
        return found[bisect_right(offsets, start - 1) : bisect_right(offsets, end)]

    @cached_property
    def _user_texts(self) -> tuple[str, ...]:
        """The unit's own file and those it includes, lines continued by a backslash joined."""
        included = [i.include.name for i in self.tu.get_includes()]
        paths = [self.path, *(p for p in included if not p.startswith(str(HEADERS)))]
        return tuple(re.sub(r"\\\r?\n", " ", self.source(p).decode("utf-8", "replace")) for p in paths)

    @property
    def std(self) -> str:
        """The C++ standard it was read with."""
        return next(a for a in reversed(self.args) if a.startswith("-std=")).removeprefix("-std=")

    @cached_property
    def macros(self) -> dict[str, str]:
        """Object-like macros of the unit and the user's files it includes: name → replacement text."""
        pattern = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[ \t]+([^\n]*))?\r?$", re.MULTILINE)
        found: dict[str, str] = {}
        for text in self._user_texts:
            for name, body in pattern.findall(text):
                found.setdefault(name, re.sub(r"//.*|/\*.*?\*/", "", body).strip())
        return found

    @cached_property
    def macro_bodies(self) -> dict[str, str]:
        """Function-like macros of the unit and the user's files it includes: name → replacement text."""
        found: dict[str, str] = {}
        for text in self._user_texts:
            for name, body in re.findall(
                r"^[ \t]*#[ \t]*define[ \t]+(\w+)\([^)]*\)([^\n]*)$", text, re.MULTILINE
            ):
                found.setdefault(name, body)
        return found


def watch_by(watch: Callable[[bool], None]) -> None:
    """Have `watch` told where foreign code begins (True) and ends to read: it may crash, or find no end."""
    _watch[:] = [watch]


_watch: list[Callable[[bool], None]] = []


@contextmanager
def reading() -> Iterator[None]:
    """Around each call of the parser."""
    for watch in _watch:
        watch(True)
    try:
        yield
    finally:
        for watch in _watch:
            watch(False)


@cache
def _index() -> Any:
    return cindex.Index.create()


@cache
def _empty_headers() -> tuple[tuple[str, str], ...]:
    lines = (HEADERS / "names.txt").read_text("utf-8").splitlines()
    names = [n for line in lines if not line.startswith("#") for n in line.split()]
    return tuple((str(HEADERS / n), "#pragma once\n") for n in names)


def parse(
    path: str | Path,
    *,
    text: str | None = None,
    includes: Iterable[str | Path] = (),
    defines: Iterable[str] = (),
    std: str = "c++17",
    extra_unsaved: Iterable[tuple[str, str]] = (),
) -> Unit:
    """Parse `path` (or `text` in its place) as CUDA device code.

    `defines` are `NAME` or `NAME=VALUE`; `extra_unsaved` are (path, text) pairs that stand for files.
    Raises OSError if the file can't be read, ValueError if libclang can't make a unit of it.
    """
    name = str(path)
    sources: dict[str, bytes] = {}
    if text is not None:
        sources[name] = text.encode("utf-8")
    else:
        sources[name] = Path(path).read_bytes()
    unsaved: list[tuple[str, str]] = list(_empty_headers())
    for other, content in extra_unsaved:
        sources[other] = content.encode("utf-8")
        unsaved.append((other, content))
    if text is not None:
        unsaved.append((name, text))
    args = [
        *FLAGS,
        f"-std={std}",
        *(f"-I{i}" for i in includes),
        *("-isystem", str(HEADERS)),
        *(f"-D{d}" for d in defines),
    ]
    try:
        with reading():
            tu = _index().parse(name, args=args, unsaved_files=unsaved, options=KEEP_GOING)
    except cindex.TranslationUnitLoadError as e:
        raise ValueError(f"libclang can't read {name}") from e
    return Unit(name, tu, tuple(_errors(tu)), sources, tuple(args), tuple(unsaved))


def _errors(tu: Any) -> Iterable[ClangError]:
    for d in tu.diagnostics:
        if d.severity < cindex.Diagnostic.Error:
            continue
        at = d.location
        within = tuple(
            m.group(1)
            for note in d.children
            if (m := re.search(r"in instantiation of .*?'(.*)' requested here", note.spelling))
        )
        file = at.file.name if at.file else ""
        yield ClangError(file, at.line, at.column, at.offset, d.spelling, within, d.category_name == _SYNTAX)


def kernels_in(unit: Unit) -> list[Kernel]:
    """Definitions of `__global__` functions in user files, templates included, in source order."""
    found: list[Kernel] = []
    for c in unit.top_level:
        _collect(unit, c, "", found)
    return found


def _collect(unit: Unit, c: Any, scope: str, found: list[Kernel]) -> None:
    kind = c._kind_id
    if kind in (ast.NAMESPACE, ast.LINKAGE_SPEC):
        inner = f"{scope}{c.spelling}::" if kind == ast.NAMESPACE and c.spelling else scope
        for child in ast.children(c):
            _collect(unit, child, inner, found)
    elif kind in (ast.FUNCTION_DECL, ast.FUNCTION_TEMPLATE):
        parts = ast.children(c)
        kinds = {p._kind_id for p in parts}
        if ast.CUDAGLOBAL_ATTR in kinds and ast.COMPOUND_STMT in kinds:
            at = ast.span(c)
            found.append(
                Kernel(
                    c,
                    c.spelling,
                    scope + c.spelling,
                    at.path,
                    at.line,
                    at.end_line,
                    kind == ast.FUNCTION_TEMPLATE,
                    tuple(_template_params(unit, parts)),
                )
            )


def _template_params(unit: Unit, parts: Iterable[Any]) -> Iterable[tuple[str, str, str]]:
    kinds = {
        ast.TEMPLATE_TYPE_PARAMETER: "type",
        ast.TEMPLATE_NON_TYPE_PARAMETER: "value",
        ast.TEMPLATE_TEMPLATE_PARAMETER: "template",
    }
    for p in parts:
        if p._kind_id in kinds:
            written = text_of(unit, p)
            default = written.split("=", 1)[1].strip() if "=" in written else ""
            yield kinds[p._kind_id], p.spelling, default


def text_of(unit: Unit, cursor: Any) -> str:
    """The source text of a cursor; of code made by a macro, the invocation."""
    path, start, end = ast.offsets(cursor)
    return unit.source(path)[start:end].decode("utf-8", "replace")


def span_of(cursor: Any) -> Span:
    """Where a cursor is; code made by a macro is where the macro is used."""
    return ast.span(cursor)
