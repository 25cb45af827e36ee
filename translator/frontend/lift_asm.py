"""Inline PTX with at most one output, as an intrinsic whose first arguments are template and constraints.

`asm("op %0, %1;" : "=r"(d) : "r"(a))` becomes `d = asm("op %0, %1;", "=r,r", a)`. An operand that is read
and written (`"+r"`) is an output and, last, an input tied to it by number. The intrinsic is called
`asm volatile` if the statement is volatile or clobbers memory.
"""

from __future__ import annotations

import ast as python_ast
import re
from dataclasses import dataclass
from typing import Any

from translator.diag.diagnostic import Span
from translator.frontend import ast, lift_expr
from translator.frontend.refusal import LiftError
from translator.frontend.scope import Scope
from translator.model.expr import Assign, Expr, Intrinsic, String
from translator.model.stmt import ExprStmt, Stmt
from translator.model.types import I8, VOID, Array, Pointer

_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_HEAD = re.compile(r"\b(?:__)?asm(?:__)?\b\s*((?:\b(?:__)?(?:volatile|inline|goto)(?:__)?\b\s*)*)\(")


@dataclass(frozen=True, slots=True)
class Asm:
    """The text of an asm statement, strings joined and unescaped."""

    template: str
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    volatile: bool


def statement(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    """An asm statement as an assignment of an intrinsic, or as a call of one. Raises LiftError."""
    text = " ".join(scope.text(c).split())
    shown = text if len(text) < 80 else text[:77] + "..."
    found = parse(_source(scope, c))
    operands = ast.operand_children(c)
    if found is None or len(found.outputs) > 1 or len(operands) != len(found.outputs) + len(found.inputs):
        raise LiftError("CP1110", c, text=shown)
    target: Expr | None = None
    constraints = [f"={x.lstrip('+=&')}" for x in found.outputs] + list(found.inputs)
    values = [_value(scope, x) for x in operands[len(found.outputs) :]]
    if found.outputs:
        target = lift_expr.lift_lvalue(scope, operands[0])
        if not lift_expr.is_lvalue(target):
            raise LiftError("CP1110", c, text=shown)
        if found.outputs[0].startswith("+"):
            constraints.append("0")
            values.append(target)
    words = (
        String(found.template, Array(I8, len(found.template) + 1), span),
        String(",".join(constraints), Array(I8, 0), span),
    )
    name = "asm volatile" if found.volatile else "asm"
    made = Intrinsic(name, (*words, *values), VOID if target is None else target.type, span)
    if target is None:
        return [ExprStmt(made, span)]
    return [ExprStmt(Assign(target, "", made, target.type, span), span)]


def _value(scope: Scope, c: Any) -> Expr:
    made = lift_expr.lift(scope, c)
    return lift_expr.decayed(made, Pointer(made.type.of)) if isinstance(made.type, Array) else made


def _source(scope: Scope, c: Any) -> str:
    """The statement's text; of one made by a macro, the macro's body."""
    text = scope.text(c)
    if _HEAD.search(text):
        return text
    name = re.match(r"\w+", text)
    return scope.lifting.unit.macro_bodies.get(name.group(), "") if name else ""


def parse(text: str) -> Asm | None:
    """The parts of one asm statement, None if it isn't one or has labels, names or macros for strings."""
    heads = list(_HEAD.finditer(text))
    if len(heads) != 1 or "goto" in heads[0].group(1):
        return None
    sections = _sections(text[heads[0].end() :])
    if sections is None or not 1 <= len(sections) <= 4:
        return None
    template = _joined(sections[0])
    if template is None:
        return None
    rest = [*sections[1:], "", "", ""]
    outputs, inputs = _constraints(rest[0]), _constraints(rest[1])
    if outputs is None or inputs is None:
        return None
    return Asm(template, outputs, inputs, "volatile" in heads[0].group(1) or "memory" in rest[2])


def _sections(text: str) -> list[str] | None:
    """What stands between the colons up to the closing parenthesis, `::` taken as two."""
    parts, depth, k = [""], 0, 0
    while k < len(text):
        string = _STRING.match(text, k)
        if string:
            parts[-1] += string.group()
            k = string.end()
            continue
        ch = text[k]
        if ch == ")" and depth == 0:
            return parts
        depth += (ch == "(") - (ch == ")")
        if ch == ":" and depth == 0:
            parts.append("")
        else:
            parts[-1] += ch
        k += 1
    return None


def _joined(text: str) -> str | None:
    """Adjacent string literals as one string; None if anything else stands between them."""
    if _STRING.sub("", text).strip(" \t\r\n\\"):
        return None
    try:
        return "".join(str(python_ast.literal_eval(x)) for x in _STRING.findall(text))
    except (SyntaxError, ValueError):
        return None


def _constraints(text: str) -> tuple[str, ...] | None:
    """The constraint of each operand in a section; None if an operand has a symbolic name."""
    if not text.strip():
        return ()
    if "[" in re.sub(r"\(.*?\)", "", _STRING.sub("", text)):
        return None
    return tuple(x[1:-1] for x in re.findall(r'"[^"]*"(?=\s*\()', text))
