"""The launch as expressions of a spec: C text, polynomials, numbers for a case."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from translator.analysis.poly import Poly

_LEVEL = {
    ast.Or: 1, ast.And: 2, ast.BitOr: 3, ast.BitXor: 4, ast.BitAnd: 5, ast.LShift: 8, ast.RShift: 8,
    ast.Add: 9, ast.Sub: 9, ast.Mult: 10, ast.FloorDiv: 10, ast.Mod: 10,
}  # fmt: skip
_TEXT = {
    ast.Or: "||", ast.And: "&&", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&", ast.LShift: "<<",
    ast.RShift: ">>", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def c_text(python: str) -> str:
    """A launch expression in Python, as C: `(n + 255) // 256` is `(n + 255) / 256`."""
    return _c(ast.parse(python, mode="eval").body)[0]


def _c(node: ast.expr) -> tuple[str, int]:
    """Text and binding strength."""
    if isinstance(node, ast.Constant):
        return str(int(node.value)) if isinstance(node.value, int) else str(node.value), 20
    if isinstance(node, ast.Name):
        return node.id, 20
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return f"{node.func.id}({', '.join(_c(a)[0] for a in node.args)})", 20
    if isinstance(node, ast.BinOp):
        level = _LEVEL[type(node.op)]
        left, right = _wrap(node.left, level), _wrap(node.right, level + 1)
        return f"{left} {_TEXT[type(node.op)]} {right}", level
    if isinstance(node, ast.BoolOp):
        level = _LEVEL[type(node.op)]
        return f" {_TEXT[type(node.op)]} ".join(_wrap(v, level + 1) for v in node.values), level
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return f"{_wrap(node.left, 8)} {_TEXT[type(node.ops[0])]} {_wrap(node.comparators[0], 8)}", 7
    if isinstance(node, ast.UnaryOp):
        sign = {ast.USub: "-", ast.Invert: "~", ast.Not: "!"}[type(node.op)]
        return f"{sign}{_wrap(node.operand, 15)}", 15
    if isinstance(node, ast.IfExp):
        return f"{_wrap(node.test, 1)} ? {_wrap(node.body, 1)} : {_wrap(node.orelse, 1)}", 0
    raise ValueError(f"not an integer expression: {ast.unparse(node)}")


def _wrap(node: ast.expr, level: int) -> str:
    text, own = _c(node)
    return text if own >= level else f"({text})"


def poly_of(python: str) -> Poly:
    """A launch expression as a polynomial; what is none of sum and product becomes one symbol."""
    return _poly(ast.parse(python, mode="eval").body)


def marked(p: Poly) -> Poly:
    """`p` with its compound symbols marked as coming from the launch."""
    return Poly.of({tuple(s if s.isidentifier() else f"${s}" for s in m): c for m, c in p.terms})


def _poly(node: ast.expr) -> Poly:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Poly.const(int(node.value))
    if isinstance(node, ast.Name):
        return Poly.symbol(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        left, right = _poly(node.left), _poly(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        return left - right if isinstance(node.op, ast.Sub) else left * right
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_poly(node.operand)
    return Poly.symbol(_c(node)[0])


_NAME = re.compile(r"[^\W\d]\w*")
_CALLS: dict[str, Callable[..., int]] = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b)}


def names_in(text: str) -> set[str]:
    """Sizes that a C expression speaks of."""
    return set(_NAME.findall(text)) - set(_CALLS)


def number(text: str, sizes: Mapping[str, int]) -> int | None:
    """The value of a C expression over sizes that aren't negative; None if it has none."""
    python = re.sub(r"!(?!=)", " not ", text.replace("/", "//").replace("&&", " and ").replace("||", " or "))
    while "?" in python:
        changed = re.sub(r"([^?:()]+)\?([^?:()]+):([^?:()]+)", r" (\2) if (\1) else (\3) ", python)
        if changed == python:
            return None
        python = changed
    try:
        return _number(ast.parse(python.strip(), mode="eval").body, sizes)
    except (SyntaxError, ValueError, KeyError, ArithmeticError):
        return None


def _number(node: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return int(_CALLS[node.func.id](*(_number(a, sizes) for a in node.args)))
    if isinstance(node, ast.IfExp):
        return _number(node.body if _number(node.test, sizes) else node.orelse, sizes)
    if isinstance(node, ast.BoolOp):
        values = [_number(v, sizes) for v in node.values]
        return int(all(values)) if isinstance(node.op, ast.And) else int(any(values))
    if isinstance(node, ast.UnaryOp):
        inner = _number(node.operand, sizes)
        return (
            -inner
            if isinstance(node.op, ast.USub)
            else ~inner
            if isinstance(node.op, ast.Invert)
            else int(not inner)
        )
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return int(
            _COMPARE[type(node.ops[0])](_number(node.left, sizes), _number(node.comparators[0], sizes))
        )
    if isinstance(node, ast.BinOp):
        left, right = _number(node.left, sizes), _number(node.right, sizes)
        return _APPLY[type(node.op)](left, right)
    raise ValueError(ast.dump(node))


_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b, ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b,
}  # fmt: skip
_APPLY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.LShift: lambda a, b: a << min(b, 62),
    ast.RShift: lambda a, b: a >> b, ast.BitOr: lambda a, b: a | b, ast.BitXor: lambda a, b: a ^ b,
    ast.BitAnd: lambda a, b: a & b,
}  # fmt: skip
