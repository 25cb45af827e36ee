"""The launch as expressions of a spec: C text, polynomials, numbers for a case."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache

from translator.analysis.poly import Poly
from verify.expr import ExprError, evaluate_int, names_of

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


@cache
def names_in(text: str) -> frozenset[str]:
    """Sizes that a C expression speaks of."""
    try:
        return frozenset(names_of(text))
    except ExprError:
        return frozenset(_NAME.findall(text))


@cache
def readable(text: str) -> bool:
    """Whether a spec may hold the expression."""
    try:
        names_of(text)
    except ExprError:
        return False
    return True


def number(text: str, sizes: Mapping[str, int]) -> int | None:
    """The value of a C expression over sizes, as a spec has it; None if it has none."""
    try:
        return evaluate_int(text, sizes)
    except ExprError:
        return None
