"""Lambdas. A closure has no fields in the model: what it captures is passed to each call of it."""

from __future__ import annotations

from typing import Any

from translator.frontend import ast
from translator.frontend.refusal import LiftError
from translator.frontend.scope import Scope
from translator.model.expr import Construct, Expr
from translator.model.types import Struct


def closure(scope: Scope, c: Any) -> Expr:
    """The closure object itself."""
    t = scope.type_of(c)
    if not isinstance(t, Struct):
        raise LiftError("CP1122", c, what="its type is not known")
    intro = scope.text(c).split("]", 1)[0].lstrip("[").strip()
    copied = [x.strip() for x in intro.split(",") if x.strip() and not x.strip().startswith("&")]
    if copied and captured(c):
        raise LiftError("CP1122", c, what=f"it captures by value: [{intro}]")
    return Construct(t, (), ast.span(c))


def is_lambda(declaration: Any) -> bool:
    """True for the class of a closure."""
    return "(lambda at" in declaration.type.spelling


def captured(c: Any) -> tuple[Any, ...]:
    """Automatic variables used in a lambda and declared outside it, in order of first use."""
    declared: set[int] = set()
    found: dict[int, Any] = {}

    def visit(x: Any) -> None:
        if x._kind_id in (ast.VAR_DECL, ast.PARM_DECL):
            declared.add(x.data[0])
        elif x._kind_id == ast.DECL_REF_EXPR:
            target = x.referenced
            if target is not None and target._kind_id in (ast.VAR_DECL, ast.PARM_DECL):
                local = target._kind_id == ast.PARM_DECL or not ast.has_global_storage(target)
                if local and target.data[0] not in declared:
                    found.setdefault(target.data[0], target)
        for child in ast.children(x):
            visit(child)

    visit(c)
    return tuple(v for k, v in found.items() if k not in declared)
