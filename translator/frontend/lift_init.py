"""Initialisers: brace lists with inner braces left out, and list values as struct values."""

from __future__ import annotations

from typing import Any

from translator.frontend import ast, lift_construct, lift_expr
from translator.frontend.convert import wrap, zero
from translator.frontend.refusal import LiftError
from translator.frontend.scope import Scope
from translator.model.expr import Expr, InitList, Literal, String
from translator.model.types import I8, Array, Scalar, Struct, Type


def init(scope: Scope, c: Any, t: Type) -> Expr:
    """The initialiser `c` of an object of type `t`: an InitList for braces, else a value."""
    while c._kind_id in (ast.PAREN_EXPR, ast.UNEXPOSED_EXPR):
        inner = ast.operand_children(c)
        if len(inner) != 1 or inner[0]._kind_id not in _WRAPPED:
            break
        c = inner[0]
    if c._kind_id != ast.INIT_LIST_EXPR:
        if isinstance(t, Array):
            return _array_from_value(scope, c, t)
        return lift_expr.value_of(scope, c, t)
    items = ast.operand_children(c)
    if not isinstance(t, Array | Struct):
        return lift_expr.value_of(scope, items[0], t) if items else zero(t, ast.span(c))
    if len(items) == 1 and items[0]._kind_id not in _WRAPPED and _is_whole(scope, items[0], t):
        return init(scope, items[0], t)  # T x{other}, char s[] = {"abc"}
    made = _list(scope, items, t, ast.span(c))
    if items:
        raise LiftError("CP1130", c, name=str(t), what="more values than elements")
    return made


_WRAPPED = (ast.INIT_LIST_EXPR, ast.UNEXPOSED_EXPR, ast.PAREN_EXPR)


def _is_whole(scope: Scope, c: Any, t: Type) -> bool:
    return isinstance(t, Struct) and scope.type_of(c) == t


def _array_from_value(scope: Scope, c: Any, t: Array) -> Expr:
    made = lift_expr.lift(scope, c)
    if isinstance(made, String):
        return characters(made, t)
    if isinstance(made, InitList):
        return made
    if c._kind_id == ast.CALL_EXPR or not ast.operand_children(c):
        return InitList((), t, ast.span(c))  # elements with trivial constructors
    raise LiftError("CP1130", c, name=str(t), what="an array from another array")


def characters(text: String, t: Array) -> Expr:
    """A string literal as the elements of a character array."""
    of = t.of if isinstance(t.of, Scalar) else I8
    return InitList(tuple(Literal(wrap(b, of), of, text.span) for b in text.value.encode()), t, text.span)


def _list(scope: Scope, items: list[Any], t: Array | Struct, span: Any) -> InitList:
    """Take from `items` what the elements of `t` need."""
    if isinstance(t, Struct) and items and ast.designated(items[0]):
        return _designated(scope, items, t, span)
    parts: list[Type]
    parts = [t.of] * (t.count or 0) if isinstance(t, Array) else [f.type for f in t.fields]
    made: list[Expr] = []
    for part in parts:
        if not items:
            break
        if isinstance(part, Array | Struct) and not _fills(scope, items[0], part):
            made.append(_list(scope, items, part, ast.span(items[0])))
        else:
            made.append(init(scope, items.pop(0), part))
    return _with_defaults(scope, tuple(made), t, span)


def _with_defaults(scope: Scope, given: tuple[Expr, ...], t: Array | Struct, span: Any) -> InitList:
    """A list and, for the fields it leaves out, their initialisers in the class."""
    if not isinstance(t, Struct) or len(given) == len(t.fields):
        return InitList(given, t, span)
    defaults = lift_construct.field_initialisers(scope, t)
    missing = t.fields[len(given) :]
    while missing and missing[-1].name not in defaults:
        missing = missing[:-1]
    rest = [
        init(scope, defaults[f.name], f.type) if f.name in defaults else zero(f.type, span) for f in missing
    ]
    return InitList((*given, *rest), t, span)


def _designated(scope: Scope, items: list[Any], t: Struct, span: Any) -> InitList:
    """`{.x = 1, .z = 2}`: every field up to the last one named; those left out are zero."""
    given: dict[str, Expr] = {}
    while items:
        name, value = ast.designated(items[0]) or ("", None)
        if not any(f.name == name for f in t.fields):
            raise LiftError("CP1130", items[0], name=str(t), what="a designator of this form")
        given[name] = init(scope, value, t.field(name).type)
        items.pop(0)
    for name, cursor in lift_construct.field_initialisers(scope, t).items():
        if name not in given:
            given[name] = init(scope, cursor, t.field(name).type)
    return InitList(tuple(given.get(f.name) or zero(f.type, span) for f in t.fields), t, span)


def _fills(scope: Scope, c: Any, part: Type) -> bool:
    """True if item `c` initialises the whole aggregate `part`, not only its first element."""
    bare = c
    while bare._kind_id in (ast.UNEXPOSED_EXPR, ast.PAREN_EXPR):
        inner = ast.operand_children(bare)
        if len(inner) != 1:
            break
        bare = inner[0]
    if bare._kind_id in (ast.INIT_LIST_EXPR, ast.STRING_LITERAL):
        return True
    return scope.type_of(c) == part
