"""Relations between declarations that the bindings of libclang don't give, and which files are the user's."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import CDLL, c_uint
from functools import cache
from typing import Any, TypeAlias

from clang import cindex

from translator.frontend import ast, clang

Cursor: TypeAlias = Any
_HEADERS = str(clang.HEADERS)


@cache
def _lib() -> Any:
    lib = CDLL("", handle=cindex.conf.lib._handle)
    lib.clang_getSpecializedCursorTemplate.argtypes = [cindex.Cursor]
    lib.clang_getSpecializedCursorTemplate.restype = cindex.Cursor
    lib.clang_getNumOverloadedDecls.argtypes = [cindex.Cursor]
    lib.clang_getNumOverloadedDecls.restype = c_uint
    lib.clang_getOverloadedDecl.argtypes = [cindex.Cursor, c_uint]
    lib.clang_getOverloadedDecl.restype = cindex.Cursor
    return lib


def specialized_template(declaration: Cursor) -> Cursor | None:
    """The template that an instantiation or specialisation was made from, else None."""
    template = _lib().clang_getSpecializedCursorTemplate(declaration)
    if template.kind.is_invalid():
        return None
    template._tu = declaration._tu
    return template


def overloads(reference: Cursor) -> Iterator[Cursor]:
    """The candidates of a name in a template that only an instantiation can choose between."""
    for position in range(_lib().clang_getNumOverloadedDecls(reference)):
        candidate = _lib().clang_getOverloadedDecl(reference, position)
        candidate._tu = reference._tu
        yield candidate


def is_user(declaration: Cursor) -> bool:
    """True for a declaration in a file of the user's, not in the stub headers."""
    path = ast.span(declaration).path
    return bool(path) and not path.startswith(_HEADERS)


def user_files(unit: clang.Unit) -> list[str]:
    """The unit's own file and the user's files it includes, each once, in the order they are entered."""
    included = (i.include.name for i in unit.tu.get_includes())
    return list(dict.fromkeys((unit.path, *(f for f in included if not f.startswith(_HEADERS)))))


def missing_headers(unit: clang.Unit) -> list[str]:
    """Headers that were included and not found, as written."""
    return [e.message.split("'")[1] for e in unit.errors if e.message.endswith("file not found")]
