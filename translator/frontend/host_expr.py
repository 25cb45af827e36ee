"""Host expressions around a launch: lifted from the AST, local variables resolved, rendered three ways.

`value` is a constant, `text` is C++, `python` speaks of kernel parameters only. Integer arithmetic on
sizes: C's truncating division is Python's `//`, as sizes aren't negative.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from clang.cindex import CursorKind as K

from translator.frontend import ast, clang, relations
from translator.frontend.constants import macro_of
from translator.frontend.host import HostIndex, Key, Place, declaration_key, initializer, key_of, strip
from translator.frontend.relations import Cursor

_MACRO = "#"  # starts the key of a macro
_DEPTH = 40  # nesting of definitions followed before a variable stays a name
_STEPS = 5_000  # nodes of one expression, for functions that call themselves
_CASTS = frozenset({K.CSTYLE_CAST_EXPR, K.CXX_STATIC_CAST_EXPR, K.CXX_FUNCTIONAL_CAST_EXPR})
_LITERALS = frozenset(
    {K.INTEGER_LITERAL, K.FLOATING_LITERAL, K.CHARACTER_LITERAL, K.CXX_BOOL_LITERAL_EXPR, K.CXX_UNARY_EXPR}
)
_FLOATS = frozenset({"FLOAT", "DOUBLE", "LONGDOUBLE", "HALF", "FLOAT128"})
_INTEGERS = frozenset(
    {"INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG", "SHORT", "USHORT", "CHAR_S", "SCHAR", "UCHAR"}
    | {"BOOL", "ENUM", "CHAR_U"}
)
_CALLS = {  # host functions with a meaning of their own
    **dict.fromkeys(("min", "fmin", "fminf"), "min"),
    **dict.fromkeys(("max", "fmax", "fmaxf"), "max"),
    **dict.fromkeys(("ceil", "ceilf"), "ceil"),
    **dict.fromkeys(("floor", "floorf"), "floor"),
}


@dataclass(frozen=True, slots=True)
class Num:
    value: int | float


@dataclass(frozen=True, slots=True)
class Name:
    """A host variable, or a macro that is a number: `meaning` is the one value it is known to hold, None if
    it isn't known."""

    key: Key
    text: str
    meaning: Node | None = None

    @property
    def is_macro(self) -> bool:
        return self.key.startswith(_MACRO)


@dataclass(frozen=True, slots=True)
class Op:
    """C operator, or `min max ceil floor int float` as functions; `float` marks floating arithmetic."""

    op: str
    args: tuple[Node, ...]
    float: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    text: str


Node: TypeAlias = "Num | Name | Op | Opaque"


class Lifter:
    """Lifts host expressions at a place; resolves variables by their one reaching write."""

    def __init__(self, unit: clang.Unit, index: HostIndex) -> None:
        self.unit = unit
        self.index = index
        self.steps = 0

    def lift(
        self, cursor: Cursor, at: Place, bound: Mapping[Key, Node] | None = None, depth: int = 0
    ) -> Node:
        cursor = strip(cursor)
        kind = cursor.kind
        children = [c for c in ast.children(cursor) if c.kind.is_expression()]
        self.steps = self.steps + 1 if depth else 0
        if depth > _DEPTH or self.steps > _STEPS:
            return Opaque(self._text(cursor))
        if (named := self._macro(cursor)) is not None:
            return named
        if kind in _LITERALS:
            return self._constant(cursor)
        if kind in (K.DECL_REF_EXPR, K.MEMBER_REF_EXPR):
            return self._variable(cursor, at, bound, depth)

        def sub(c: Cursor) -> Node:
            return self.lift(c, at, bound, depth + 1)

        floating = _is_float(cursor)
        if kind == K.BINARY_OPERATOR and len(children) == 2:
            return Op(ast.binary_operator(cursor), (sub(children[0]), sub(children[1])), floating)
        if kind == K.UNARY_OPERATOR and len(children) == 1:
            op = ast.unary_operator(cursor)
            if op in ("-", "~", "!"):
                return Op(op, (sub(children[0]),), floating)
            return sub(children[0]) if op == "+" else self._constant(cursor)
        if kind == K.CONDITIONAL_OPERATOR and len(children) == 3:
            return Op("?:", tuple(sub(c) for c in children), floating)
        if kind in _CASTS and children:
            inner = sub(children[-1])
            if floating:
                return Op("float", (inner,), True)
            is_integer = cursor.type.get_canonical().kind.name in _INTEGERS
            return Op("int", (inner,)) if is_integer and _is_float(strip(children[-1])) else inner
        if kind == K.CALL_EXPR:
            return self._call(cursor, at, bound, depth)
        return self._constant(cursor)

    def dim3(self, cursor: Cursor, at: Place, depth: int = 0) -> tuple[Node, Node, Node] | None:
        """The three axes of a `dim3` (or integer) expression, or None if they can't be told apart."""
        cursor = strip(cursor, casts=True)
        if depth > _DEPTH:
            return None
        one = Num(1)
        kind = cursor.kind
        if kind == K.DECL_REF_EXPR and _is_vector(cursor):
            return self._dim3_variable(cursor, at, depth)
        if kind in (K.CALL_EXPR, K.INIT_LIST_EXPR) and _is_vector(cursor):
            if kind == K.CALL_EXPR and (body := _returned(cursor.referenced)) is not None:
                bound = self.bind(cursor, at, None, depth)
                axes = _axes(body)
                if axes is not None:
                    got = [self.lift(a, at, bound, depth + 1) for a in axes]
                    return (*got, one, one, one)[:3]  # type: ignore[return-value]
            if kind == K.CALL_EXPR and cursor.spelling not in ("dim3", "uint3", "make_uint3"):
                return None
            args = list(cursor.get_arguments()) if kind == K.CALL_EXPR else ast.children(cursor)
            args = [a for a in args if a.extent.end.offset]
            if len(args) == 1 and _is_vector(strip(args[0])):
                return self.dim3(args[0], at, depth + 1)  # a copy
            got = [self.lift(a, at, None, depth + 1) for a in args]
            return (*got, one, one, one)[:3]  # type: ignore[return-value]
        if kind == K.CONDITIONAL_OPERATOR and _is_vector(cursor):
            parts = ast.children(cursor)
            then, other = self.dim3(parts[1], at, depth + 1), self.dim3(parts[2], at, depth + 1)
            if then is None or other is None:
                return None
            cond = self.lift(parts[0], at, None, depth + 1)
            x, y, z = (a if a == b else Op("?:", (cond, a, b)) for a, b in zip(then, other, strict=True))
            return x, y, z
        if _is_vector(cursor):
            return None
        return self.lift(cursor, at), one, one

    def _dim3_variable(self, cursor: Cursor, at: Place, depth: int) -> tuple[Node, Node, Node] | None:
        key = key_of(cursor)
        declaration = cursor.referenced
        if key is None:
            return None
        if declaration.kind == K.PARM_DECL:
            passed = self.passed(declaration)
            return None if passed is None else self.dim3(passed[0], passed[1], depth + 1)
        write = self.index.reaching(key, at, is_global=is_file_scope(declaration))
        whole = self.dim3(write.value, write.at, depth + 1) if write and write.value is not None else None
        axes: list[Node] = []
        for position, axis in enumerate("xyz"):
            own = [w for w in self.index.writes.get(f"{key}.{axis}", []) if w.at.order < at.order]
            if own and (write is None or own[-1].at.order > write.at.order):
                last = self.index.reaching(f"{key}.{axis}", at)
                if last is None or last.value is None:
                    return None
                axes.append(self.lift(last.value, last.at, None, depth + 1))
            elif whole is not None:
                axes.append(whole[position])
            else:
                return None
        return axes[0], axes[1], axes[2]

    def _variable(self, cursor: Cursor, at: Place, bound: Mapping[Key, Node] | None, depth: int) -> Node:
        key = key_of(cursor)
        text = self._text(cursor)
        if key is None:
            return self._constant(cursor)
        if bound and key in bound:
            return bound[key]
        if cursor.kind == K.MEMBER_REF_EXPR:
            parts = ast.children(cursor)
            if cursor.spelling in ("x", "y", "z") and parts and _is_vector(strip(parts[0])):
                axes = self.dim3(parts[0], at, depth + 1)
                if axes is not None:
                    return axes["xyz".index(cursor.spelling)]
            return Name(key, text)
        declaration = cursor.referenced
        if declaration.kind == K.PARM_DECL:
            passed = self.passed(declaration)
            meaning = None if passed is None else self.lift(passed[0], passed[1], None, depth + 1)
            return Name(key, text, meaning)
        if declaration.type.is_const_qualified() and (value := initializer(declaration)) is not None:
            known = ast.evaluate(value)
            if isinstance(known, int | float):
                return Name(key, text, Num(known))
        write = self.index.reaching(key, at, is_global=is_file_scope(declaration))
        if write is None or write.value is None:
            return Name(key, text)
        return Name(key, text, self.lift(write.value, write.at, None, depth + 1))

    def passed(self, parameter: Cursor) -> tuple[Cursor, Place] | None:
        """The argument given to a host function's parameter, if the function is called at one place."""
        function = parameter.semantic_parent
        sites = self.index.calls.get(function.get_usr(), [])
        if len(sites) != 1 or self.index.writes.get(declaration_key(parameter) or ""):
            return None
        key = declaration_key(parameter)
        for position, candidate in enumerate(function.get_arguments()):
            if declaration_key(candidate) == key or candidate.spelling == parameter.spelling:
                args, at = sites[0]
                return (args[position], at) if position < len(args) else None
        return None

    def _call(self, cursor: Cursor, at: Place, bound: Mapping[Key, Node] | None, depth: int) -> Node:
        args = list(cursor.get_arguments())
        name = cursor.spelling
        floating = _is_float(cursor)
        body = _returned(cursor.referenced) if self._inlinable(cursor.referenced) else None
        if body is not None:
            return self.lift(body, at, self.bind(cursor, at, bound, depth), depth + 1)
        if name in _CALLS and args:
            nodes = tuple(self.lift(a, at, bound, depth + 1) for a in args)
            return Op(_CALLS[name], nodes, floating)
        is_copy = cursor.referenced is not None and cursor.referenced.kind == K.CONSTRUCTOR
        if is_copy and len(args) == 1 and strip(args[0]).type.get_canonical() == cursor.type.get_canonical():
            return self.lift(args[0], at, bound, depth + 1)  # a copy
        known = self._constant(cursor)
        if isinstance(known, Num):
            return known
        if args:
            shown = ", ".join(show(self.lift(a, at, bound, depth + 1)) for a in args)
            return Opaque(f"{name}({shown})")
        return known

    def _inlinable(self, function: Cursor | None) -> bool:
        return function is not None and relations.is_user(function)

    def bind(self, call: Cursor, at: Place, bound: Mapping[Key, Node] | None, depth: int) -> dict[Key, Node]:
        """The parameters of a called function or constructor as the call gives them."""
        function = call.referenced.get_definition() or call.referenced
        args = list(call.get_arguments())
        params = list(function.get_arguments())
        if len(args) == len(params) + 1:
            args = args[1:]  # a closure's own object
        made: dict[Key, Node] = {}
        for param, arg in zip(params, args, strict=False):
            key = declaration_key(param)
            if key is not None:
                made[key] = self.lift(arg, at, bound, depth + 1)
        return made

    def _macro(self, cursor: Cursor) -> Name | None:
        """The macro without parameters whose whole body this constant is."""
        found = macro_of(self.unit, cursor)
        return Name(_MACRO + found[0], found[0], Num(found[1])) if found is not None else None

    def _constant(self, cursor: Cursor) -> Node:
        value = ast.evaluate(cursor)
        return Num(value) if isinstance(value, int | float) else Opaque(self._text(cursor))

    def _text(self, cursor: Cursor) -> str:
        return cursor.spelling if cursor.kind == K.DECL_REF_EXPR else clang.text_of(self.unit, cursor)


def _is_float(cursor: Cursor) -> bool:
    return cursor.type.get_canonical().kind.name in _FLOATS


def _is_vector(cursor: Cursor) -> bool:
    spelled = cursor.type.get_canonical().spelling.removeprefix("const ").removesuffix(" &").strip()
    return spelled in ("dim3", "uint3")


def is_file_scope(declaration: Cursor) -> bool:
    """Whether a variable is declared outside all functions and classes."""
    parent = declaration.semantic_parent
    return parent is not None and parent.kind in (K.TRANSLATION_UNIT, K.NAMESPACE)


def _axes(expression: Cursor) -> list[Cursor] | None:
    inner = strip(expression, casts=True)
    if inner.kind == K.CALL_EXPR and inner.spelling in ("dim3", "make_uint3"):
        args = [a for a in inner.get_arguments() if a.extent.end.offset]
        if len(args) == 1 and _is_vector(strip(args[0])):
            return _axes(args[0])
        return args
    if inner.kind == K.INIT_LIST_EXPR:
        return ast.children(inner)
    return None


def _returned(function: Cursor | None) -> Cursor | None:
    """The expression of a function whose body is one `return`, else None."""
    if function is None:
        return None
    function = function.get_definition() or function
    body = next((c for c in ast.children(function) if c.kind == K.COMPOUND_STMT), None)
    statements = ast.children(body) if body is not None else []
    if len(statements) != 1 or statements[0].kind != K.RETURN_STMT:
        return None
    return next(iter(ast.children(statements[0])), None)


# ---- values


def _divide(a: float, b: float) -> float:
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))
    return a / b


_FOLD: dict[str, Callable[..., int | float]] = {
    "+": operator.add,
    "-": lambda *a: a[0] - a[1] if len(a) == 2 else -a[0],
    "*": operator.mul,
    "/": _divide,
    "%": lambda a, b: int(math.fmod(a, b)),
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "~": operator.invert,
    "!": lambda a: int(not a),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
    "?:": lambda c, a, b: a if c else b,
    "min": min,
    "max": max,
    "ceil": math.ceil,
    "floor": math.floor,
    "int": int,
    "float": float,
}


def value(node: Node | None) -> int | float | None:
    """The constant value of an expression, None if it has none."""
    if isinstance(node, Num):
        return node.value
    if isinstance(node, Name):
        return value(node.meaning)
    if isinstance(node, Op) and node.op in _FOLD:
        args = [value(a) for a in node.args]
        if any(a is None for a in args):
            return None
        try:
            return _FOLD[node.op](*args)
        except (ArithmeticError, ValueError, TypeError):
            return None
    return None


# ---- C++ text


def show(node: Node, *, resolve: bool = True) -> str:
    """C++ text; variables replaced by their definitions if `resolve`."""
    if isinstance(node, Num):
        return str(node.value)
    if isinstance(node, Opaque):
        return node.text
    if isinstance(node, Name):
        return show(node.meaning) if resolve and node.meaning is not None else node.text
    parts = [show(a, resolve=resolve) for a in node.args]
    if node.op in ("int", "float"):
        return f"({node.op}){_group(node.args[0], parts[0], resolve)}"
    if node.op.isalpha():
        return f"{node.op}({', '.join(parts)})"
    grouped = [_group(a, p, resolve) for a, p in zip(node.args, parts, strict=True)]
    if node.op == "?:":
        return f"{grouped[0]} ? {grouped[1]} : {grouped[2]}"
    if len(grouped) == 1:
        return f"{node.op}{grouped[0]}"
    if node.op in ("+", "-") and _sum(node.args[0], resolve):
        grouped[0] = parts[0]
    return f"{grouped[0]} {node.op} {grouped[1]}"


def _sum(node: Node, resolve: bool) -> bool:
    if isinstance(node, Name) and resolve and node.meaning is not None:
        return _sum(node.meaning, resolve)
    return isinstance(node, Op) and node.op in ("+", "-") and len(node.args) == 2


def _group(node: Node, text: str, resolve: bool) -> str:
    if isinstance(node, Name) and resolve and node.meaning is not None:
        return _group(node.meaning, text, resolve)
    return f"({text})" if isinstance(node, Op) and not node.op.isalpha() else text
