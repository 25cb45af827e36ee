"""Structs that a launch passes by value: the constants their fields are seen to hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from clang.cindex import CursorKind as K

from translator.frontend import ast, relations
from translator.frontend.host import Key, Place, initializer, key_of, strip
from translator.frontend.host_expr import Lifter, Node, is_file_scope, value
from translator.frontend.relations import Cursor

Values: TypeAlias = list[float | int | None]

_DEPTH = 12  # copies, members and constructors followed into each other
_MOST = 4096  # leaves of one struct


def field_values(lifter: Lifter, argument: Cursor, kind: Any, at: Place) -> tuple[float | int | None, ...]:
    """The leaves of a struct of clang type `kind` in order, None where one is no constant.

    Empty for a type that is no struct, or has bases.
    """
    kind = kind.get_canonical()
    if kind.kind.name != "RECORD" or not 0 < _count(kind, 0) <= _MOST:
        return ()
    return tuple(_Reader(lifter).read(argument, kind, at, None, 0))


def _fields(kind: Any) -> list[Cursor]:
    return [c for c in ast.children(kind.get_declaration()) if c.kind == K.FIELD_DECL]


def _count(kind: Any, depth: int) -> int:
    """Leaves of a type; more than any limit where it can't be flattened."""
    kind = kind.get_canonical()
    if depth > _DEPTH:
        return _MOST + 1
    if kind.kind.name == "RECORD":
        if any(c.kind == K.CXX_BASE_SPECIFIER for c in ast.children(kind.get_declaration())):
            return _MOST + 1
        return sum(_count(f.type, depth + 1) for f in _fields(kind))
    if kind.kind.name == "CONSTANTARRAY":
        return int(kind.element_count) * _count(kind.element_type, depth + 1)
    return 1


class _Reader:
    def __init__(self, lifter: Lifter) -> None:
        self.lifter = lifter

    def read(
        self, cursor: Cursor | None, kind: Any, at: Place, bound: Mapping[Key, Node] | None, depth: int
    ) -> Values:
        """The leaves of an expression of type `kind`."""
        kind = kind.get_canonical()
        unknown: Values = [None] * _count(kind, 0)
        if cursor is None or depth > _DEPTH:
            return unknown
        if kind.kind.name not in ("RECORD", "CONSTANTARRAY"):
            return [value(self.lifter.lift(cursor, at, bound))]
        inner = strip(cursor, casts=True)
        if inner.kind == K.INIT_LIST_EXPR:
            return self._listed(inner, kind, at, bound, depth)
        if kind.kind.name == "CONSTANTARRAY":
            return unknown
        if inner.kind == K.DECL_REF_EXPR:
            return self._variable(inner, kind, at, depth)
        if inner.kind == K.CALL_EXPR:
            return self._call(inner, kind, at, bound, depth) or unknown
        return unknown

    def _listed(
        self, items: Cursor, kind: Any, at: Place, bound: Mapping[Key, Node] | None, depth: int
    ) -> Values:
        """An initialiser list: what it leaves out is the member's own default, else zero."""
        given = [c for c in ast.children(items) if c.kind.is_expression()]
        if kind.kind.name == "CONSTANTARRAY":
            made: Values = []
            for k in range(int(kind.element_count)):
                made += self._part(given[k] if k < len(given) else None, kind.element_type, at, bound, depth)
            return made
        named = dict(filter(None, map(ast.designated, given)))
        fields = _fields(kind)
        by_field = named or {f.spelling: c for f, c in zip(fields, given, strict=False)}
        return [
            leaf
            for f in fields
            for leaf in self._part(by_field.get(f.spelling) or _default(f), f.type, at, bound, depth)
        ]

    def _part(
        self, cursor: Cursor | None, kind: Any, at: Place, bound: Mapping[Key, Node] | None, depth: int
    ) -> Values:
        return [0] * _count(kind, 0) if cursor is None else self.read(cursor, kind, at, bound, depth + 1)

    def _call(
        self, call: Cursor, kind: Any, at: Place, bound: Mapping[Key, Node] | None, depth: int
    ) -> Values | None:
        args = list(call.get_arguments())
        target = call.referenced
        fields = _fields(kind)
        if target is None:
            return None
        if target.kind != K.CONSTRUCTOR:
            if not call.spelling.startswith("make_") or len(args) != len(fields) or relations.is_user(target):
                return None
            parts = zip(args, fields, strict=True)
            return [leaf for a, f in parts for leaf in self.read(a, f.type, at, bound, depth + 1)]
        if len(args) == 1 and strip(args[0]).type.get_canonical().get_declaration() == kind.get_declaration():
            return self.read(args[0], kind, at, bound, depth + 1)  # a copy
        inner = self.lifter.bind(call, at, bound, depth)
        set_by = _initialised(target.get_definition() or target)
        made: Values = []
        for f in fields:
            made += self.read(set_by.get(f.spelling) or _default(f), f.type, at, inner, depth + 1)
        return made

    def _variable(self, cursor: Cursor, kind: Any, at: Place, depth: int) -> Values:
        declaration, key = cursor.referenced, key_of(cursor)
        unknown: Values = [None] * _count(kind, 0)
        if key is None:
            return unknown
        if declaration.kind == K.PARM_DECL:
            passed = self.lifter.passed(declaration)
            return unknown if passed is None else self.read(passed[0], kind, passed[1], None, depth + 1)
        index = self.lifter.index
        write = index.reaching(key, at, is_global=is_file_scope(declaration))
        if write is not None and write.value is not None:
            whole = self.read(write.value, kind, write.at, None, depth + 1)
        elif write is None and declaration.type.is_const_qualified():
            whole = self.read(initializer(declaration), kind, at, None, depth + 1)
        else:
            whole = unknown
        made: Values = []
        for f in _fields(kind):
            own = whole[len(made) : len(made) + _count(f.type, 0)]
            writes = [w for w in index.writes.get(f"{key}.{f.spelling}", []) if w.at.order < at.order]
            if writes and (write is None or writes[-1].at.order > write.at.order):
                last = index.reaching(f"{key}.{f.spelling}", at)
                known = last is not None and last.value is not None
                own = (
                    self.read(last.value, f.type, last.at, None, depth + 1)
                    if last is not None and known
                    else [None] * len(own)
                )
            made += own
        return made


def _default(f: Cursor) -> Cursor | None:
    """The default member initialiser of a field."""
    return next((c for c in ast.children(f) if c.kind.is_expression()), None)


def _initialised(constructor: Cursor) -> dict[str, Cursor]:
    """Field → expression of a constructor's member initialisers."""
    found: dict[str, Cursor] = {}
    member = ""
    for c in ast.children(constructor):
        if c.kind == K.MEMBER_REF:
            member = c.spelling
        elif member and c.kind.is_expression():
            found[member] = c
            member = ""
    return found
