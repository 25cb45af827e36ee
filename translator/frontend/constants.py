"""Integer constants written where the compiler's tree does not show them: launch bounds, unroll factors."""

from __future__ import annotations

import ast as python_ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from translator.frontend import ast
from translator.frontend.clang import Unit

_OPERATORS: dict[type, Callable[[int, int], int]] = {
    python_ast.Add: operator.add,
    python_ast.Sub: operator.sub,
    python_ast.Mult: operator.mul,
    python_ast.LShift: operator.lshift,
    python_ast.RShift: operator.rshift,
    python_ast.BitAnd: operator.and_,
    python_ast.BitOr: operator.or_,
}


def integer_value(text: str, template_values: Mapping[str, int], unit: Unit, depth: int = 0) -> int | None:
    """The value of a C integer expression over macros, template parameters and constants of the unit."""
    plain = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text.strip())
    plain = re.sub(r"\b(?:static_cast\s*<[^>]*>|\(\s*(?:unsigned|int|size_t)\s*\))", "", plain)
    try:
        tree = python_ast.parse(plain, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return None
    return _value(tree.body, template_values, unit, depth)


_NAME = re.compile(rb"[A-Za-z_]\w*")


def macro_of(unit: Unit, cursor: Any) -> tuple[str, int] | None:
    """(name, value) of the macro without parameters that a constant expression is written as."""
    path, offset = ast.written_at(cursor)
    found = _NAME.match(unit.source(path), offset) if path else None
    name = found[0].decode() if found is not None else ""
    if name not in unit.macros:
        return None
    value = ast.evaluate(cursor)
    known = integer_value(unit.macros[name], {}, unit)
    return (name, known) if known is not None and value == known else None


def _value(node: python_ast.AST, names: Mapping[str, int], unit: Unit, depth: int) -> int | None:
    if isinstance(node, python_ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, python_ast.Name):
        return _named(node.id, names, unit, depth)
    if isinstance(node, python_ast.UnaryOp) and isinstance(node.op, python_ast.USub):
        inner = _value(node.operand, names, unit, depth)
        return None if inner is None else -inner
    if isinstance(node, python_ast.BinOp):
        left, right = _value(node.left, names, unit, depth), _value(node.right, names, unit, depth)
        if left is None or right is None:
            return None
        if isinstance(node.op, python_ast.Div | python_ast.FloorDiv):
            return int(left / right) if right else None
        if isinstance(node.op, python_ast.Mod):
            return left % right if right > 0 and left >= 0 else None
        apply = _OPERATORS.get(type(node.op))
        shifts_too_far = isinstance(node.op, python_ast.LShift | python_ast.RShift) and not 0 <= right < 64
        return apply(left, right) if apply and not shifts_too_far else None
    return None


def _named(name: str, names: Mapping[str, int], unit: Unit, depth: int) -> int | None:
    if name in names:
        return names[name]
    if depth < 16 and name in unit.macros:
        return integer_value(unit.macros[name], names, unit, depth + 1)
    for c in unit.top_level:
        if c._kind_id == ast.VAR_DECL and c.spelling == name:
            value = ast.evaluate(c)
            return value if isinstance(value, int) else None
        if c._kind_id == ast.ENUM_DECL:
            for e in ast.children(c):
                if e._kind_id == ast.ENUM_CONSTANT_DECL and e.spelling == name:
                    return int(e.enum_value)
    return None
