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
    if copied:
        changed = {x.spelling for x in captured(c)} & _written(scope.code)
        if changed:
            raise LiftError(
                "CP1122", c, what=f"it captures by value what is changed: {', '.join(sorted(changed))}"
            )
    return Construct(t, (), ast.span(c))


def _written(code: Any) -> set[str]:
    """Names of variables that a body assigns to, increments, or takes the address of."""
    found: set[str] = set()

    def visit(x: Any) -> None:
        kind = x._kind_id
        target = None
        if (
            kind == ast.COMPOUND_ASSIGNMENT_OPERATOR
            or (kind == ast.BINARY_OPERATOR and ast.binary_operator(x) == "=")
            or (kind == ast.UNARY_OPERATOR and ast.unary_operator(x) in ("x++", "x--", "++x", "--x", "&"))
        ):
            target = ast.operand_children(x)[0]
        while target is not None and target._kind_id == ast.PAREN_EXPR:
            target = ast.operand_children(target)[0]
        if target is not None and target._kind_id == ast.DECL_REF_EXPR:
            found.add(target.spelling)
        for child in ast.children(x):
            visit(child)

    visit(code)
    return found


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
                    if "(lambda at" in target.type.get_canonical().spelling:
                        follow(target)  # what that closure captures is passed through this one
                    else:
                        found.setdefault(target.data[0], target)
        for child in ast.children(x):
            visit(child)

    def follow(closure_variable: Any) -> None:
        init = ast.var_initializer(closure_variable)
        for x in captured(init) if init is not None else ():
            found.setdefault(x.data[0], x)

    visit(c)
    return tuple(v for k, v in found.items() if k not in declared)
