"""Statements: declarations, control flow, pragmas, and the author's comments on them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clang.cindex import StorageClass

from translator.diag.diagnostic import Span
from translator.frontend import ast, lift_asm, lift_construct, lift_expr, lift_init
from translator.frontend.constants import integer_value
from translator.frontend.convert import address_of, convert
from translator.frontend.lift_types import is_const, is_lvalue_reference
from translator.frontend.refusal import BY_KIND, LiftError
from translator.frontend.scope import Scope
from translator.model.expr import Comma, Expr, Literal, Unary, Unsupported, VarRef
from translator.model.stmt import (
    Block,
    Break,
    Case,
    Continue,
    Decl,
    DoWhile,
    ExprStmt,
    For,
    If,
    Return,
    Stmt,
    Switch,
    While,
)
from translator.model.types import BOOL, VOID, Array, Pointer, Struct

Lifter = Callable[[Scope, Any, Span], list[Stmt]]


def body(scope: Scope, c: Any) -> tuple[Stmt, ...]:
    """The statements of a block, or the one statement `c` is."""
    if c._kind_id != ast.COMPOUND_STMT:
        return tuple(statement(scope, c))
    at, start, end = ast.place(c)
    return tuple(_sequence(scope, ast.children(c), at.path, start, end))


def _sequence(scope: Scope, cursors: list[Any], path: str, start: int, end: int) -> list[Stmt]:
    """Statements with the comments between them; `start` and `end` are those of what holds them."""
    comments = scope.lifting.comments_of(path)
    made: list[Stmt] = []
    at = start
    places = [ast.place(c) for c in cursors]
    for k, (c, (span, first, last)) in enumerate(zip(cursors, places, strict=True)):
        lines: list[str] = []
        if span.path == path and first >= at:
            lines = [x for found in comments.between(at, first) for x in found.lines]
            limit = places[k + 1][1] if k + 1 < len(places) else end
            behind = comments.trailing(last, max(limit, last))
            lines += [x for found in behind for x in found.lines]
            at = behind[-1].end if behind else last
        statements = statement(scope, c)
        if lines and statements:
            statements[0] = _commented(statements[0], tuple(lines))
        made += statements
    return made


def _commented(s: Stmt, lines: tuple[str, ...]) -> Stmt:
    return replace(s, comments=(*lines, *s.comments))


def statement(scope: Scope, c: Any) -> list[Stmt]:
    """One statement of the source as statements of the model; what is refused is reported here."""
    span = ast.span(c)
    lifter = _LIFTERS.get(c._kind_id)
    try:
        if lifter is not None:
            return lifter(scope, c, span)
        return _expression(scope, c, span)
    except LiftError as error:
        scope.lifting.report(error, c)
        return [ExprStmt(Unsupported(error.code, VOID, span), span)]


def _expression(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    try:
        name = c.kind.name
    except ValueError:
        name = ""
    if name in BY_KIND or name.endswith("_STMT"):
        code, what = BY_KIND.get(name, ("CP1126", name.lower().replace("_", " ")))
        text = " ".join(scope.text(c).split())
        raise LiftError(code, c, what=what, name=what, text=text if len(text) < 80 else text[:77] + "...")
    made = lift_expr.lift(scope, c)
    if isinstance(made, VarRef | Literal):
        return []  # `(void)x;` and the like
    return [ExprStmt(made, span)]


# ---- declarations


def _declarations(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    made: list[Stmt] = []
    for part in ast.children(c):
        if part._kind_id == ast.VAR_DECL:
            try:
                made += variable(scope, part)
            except LiftError as error:
                scope.refused.add(part.data[0])
                scope.lifting.report(error, part)
    return made


def variable(scope: Scope, c: Any) -> list[Stmt]:
    """A local variable; shared ones get their storage, closures and empty structs leave nothing."""
    span = ast.span(c)
    kinds = {x._kind_id for x in ast.children(c)}
    t = scope.type_of(c)
    align = _alignment(scope, c) if ast.ALIGNED_ATTR in kinds else 0
    if ast.CUDASHARED_ATTR in kinds:
        storage = "dynamic_shared" if c.storage_class == StorageClass.EXTERN else "shared"
        return [Decl(scope.declare(c, c.spelling, storage, align=align), None, span)]  # type: ignore[arg-type]
    if kinds & {ast.CUDADEVICE_ATTR, ast.CUDACONSTANT_ATTR}:
        return []  # found as a global where it is used
    if c.storage_class == StorageClass.EXTERN:
        return []
    init = ast.var_initializer(c)
    if c.storage_class == StorageClass.STATIC and not is_const(c.type):
        raise LiftError("CP1130", c, name=c.spelling, what="a static variable of a function")
    if isinstance(t, Struct) and not t.fields:
        if init is not None:
            lift_expr.lift(scope, init)
        scope.declare(c, c.spelling, kind=t)
        return []
    if is_lvalue_reference(c.type):
        return [_reference(scope, c, init, span)]
    value: Expr | None = None
    if init is not None and not lift_construct.leaves_uninitialised(scope, init):
        value = lift_init.init(scope, init, t)
    return [Decl(scope.declare(c, c.spelling, kind=t, align=align), value, span)]


def _alignment(scope: Scope, c: Any) -> int:
    """Bytes asked for by `alignas(16)` or `__align__(16)`; of `alignas(type)` the most any type needs."""
    written = [scope.text(x) for x in ast.children(c) if x._kind_id == ast.ALIGNED_ATTR]
    inside = [m.group(1) for x in written if (m := re.search(r"\((.*)\)", x, re.DOTALL))]
    values = [integer_value(x.strip("() "), scope.template_values, scope.lifting.unit) for x in inside]
    return max((16 if v is None else v for v in values), default=16)


def _reference(scope: Scope, c: Any, init: Any, span: Span) -> Stmt:
    target = lift_expr.lift_lvalue(scope, init)
    if isinstance(target, Comma):
        raise LiftError("CP1129", c, what="the result of an assignment")
    if not lift_expr.is_lvalue(target):
        # `const T& x = value` keeps a temporary alive: the same as a variable of its own.
        t = scope.type_of(c)
        var = scope.lifting.new_var(c.spelling, t, const=True, span=span)
        scope.vars[c.data[0]] = VarRef(var)
        return Decl(var, convert(target, t, span), span)
    return Decl(scope.declare(c, c.spelling), target, span)


# ---- control flow


def condition(scope: Scope, c: Any) -> Expr:
    made = lift_expr.lift(scope, c)
    return convert(made, BOOL, made.span)


def _if(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    parts = ast.children(c)
    before: list[Stmt] = []
    while parts and parts[0]._kind_id in (ast.DECL_STMT, ast.VAR_DECL):
        head = parts.pop(0)
        before += variable(scope, head) if head._kind_id == ast.VAR_DECL else _declarations(scope, head, span)
    if not 2 <= len(parts) <= 3:
        raise LiftError("CP1126", c, what="if with an initialising expression")
    if re.match(r"if\s+constexpr\b", scope.text(c)):
        value = ast.evaluate(parts[0])
        if value is not None:
            chosen = parts[1] if value else parts[2] if len(parts) == 3 else None
            inside = body(scope, chosen) if chosen is not None else ()
            needs_block = any(isinstance(s, Decl) for s in inside)
            return [Block(inside, span)] if needs_block else list(inside)
    made = If(
        condition(scope, parts[0]),
        body(scope, parts[1]),
        body(scope, parts[2]) if len(parts) == 3 else (),
        span,
    )
    return [Block((*before, made), span)] if before else [made]


def _for(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    parts = ast.children(c)
    inside = parts.pop()
    init, test, step = _for_parts(scope, c, parts, inside)
    if test is not None and test._kind_id == ast.VAR_DECL:
        raise LiftError("CP1126", c, what="for with a declaration as its condition")
    first: tuple[Stmt, ...] = ()
    if init is not None:
        first = tuple(statement(scope, init))
    cond = condition(scope, test) if test is not None else None
    last = lift_expr.lift(scope, step) if step is not None else None
    return [For(first, cond, last, body(scope, inside), None, span)]


def _for_parts(scope: Scope, c: Any, parts: list[Any], inside: Any) -> tuple[Any, Any, Any]:
    """(init, condition, step) of a for statement; absent ones are missing from its children."""
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    if not parts:
        return None, None, None
    path, start, _ = ast.offsets(c)
    _, stop, _ = ast.offsets(inside)
    text = scope.lifting.unit.source(path)[start:stop].decode("latin-1")
    text = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", _blank, text, flags=re.DOTALL)
    open_at = text.find("(")
    semicolons = [start + k for k, ch in enumerate(text) if ch == ";" and k > open_at]
    if open_at < 0 or len(semicolons) != 2:
        raise LiftError("CP1126", c, what="for with parts left out, made by a macro,")
    slots: list[Any] = [None, None, None]
    for part in parts:
        at = ast.offsets(part)[1]
        slots[sum(at > s for s in semicolons)] = part
    return slots[0], slots[1], slots[2]


def _blank(m: re.Match[str]) -> str:
    return " " * len(m.group())


def _while(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    parts = ast.children(c)
    if parts[0]._kind_id == ast.VAR_DECL:  # while (T x = e): declared and tested on each turn
        declared = variable(scope, parts[0])
        test = condition(scope, parts[1])
        leave = If(Unary("!", test, BOOL, test.span), (Break(test.span),), (), test.span)
        return [While(Literal(True, BOOL, span), (*declared, leave, *body(scope, parts[-1])), None, span)]
    return [While(condition(scope, parts[0]), body(scope, parts[1]), None, span)]


def _do(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    inside, test = ast.children(c)[:2]
    statements = body(scope, inside)
    return [DoWhile(statements, condition(scope, test), span)]


def _attributed(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    """A statement with an attribute: `#pragma unroll` on a loop; others say nothing about the meaning."""
    parts = ast.children(c)
    if not parts:
        return []
    made = statement(scope, parts[-1])
    if made and isinstance(made[-1], For | While):
        at, start, _ = ast.place(c)
        head = scope.lifting.unit.source(at.path)[start : ast.offsets(parts[-1])[1]].decode(
            "utf-8", "replace"
        )
        made[-1] = replace(made[-1], unroll=_unroll(scope, head), span=span)
    return made


def _unroll(scope: Scope, head: str) -> int | None:
    """The factor of a pragma: 0 full, 1 none, None if it says nothing of the sort."""
    if re.search(r"\bnounroll\b", head):
        return 1
    m = re.search(r"\bunroll(?:_count)?\b[ \t]*\(?([^\n\"]*)", head)
    if m is None:
        return None
    factor = re.sub(r"//.*|/\*.*", "", m.group(1)).strip().rstrip(")").strip()
    if not factor:
        return 0
    return integer_value(factor, scope.template_values, scope.lifting.unit)


def _return(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    parts = ast.operand_children(c)
    if not parts:
        return [Return(None, span)]
    if scope.by_pointer:
        target = lift_expr.lift_lvalue(scope, parts[0])
        if not lift_expr.is_lvalue(target):
            raise LiftError("CP1129", c, what="a temporary value")
        return [Return(address_of(target, Pointer(target.type), span), span)]
    made = lift_expr.lift(scope, parts[0])
    if isinstance(made.type, Array):
        made = lift_expr.decayed(made, Pointer(made.type.of))
    if made.type == VOID:
        return [ExprStmt(made, span), Return(None, span)]
    return [Return(made, span)]


def _switch(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    parts = ast.children(c)
    before: list[Stmt] = []
    while parts[0]._kind_id in (ast.DECL_STMT, ast.VAR_DECL):
        head = parts.pop(0)
        before += variable(scope, head) if head._kind_id == ast.VAR_DECL else _declarations(scope, head, span)
    value = lift_expr.lift(scope, parts[0])
    inside = parts[1]
    cursors = ast.children(inside) if inside._kind_id == ast.COMPOUND_STMT else [inside]
    at, _, end = ast.place(inside)
    groups: list[tuple[list[int], bool, list[Any], Span]] = []
    for x in cursors:
        labels: list[int] = []
        default = False
        place = ast.span(x)
        while x is not None and x._kind_id in (ast.CASE_STMT, ast.DEFAULT_STMT):
            inner = ast.children(x)
            if x._kind_id == ast.DEFAULT_STMT:
                default = True
                x = inner[0] if inner else None
            else:
                labels += _labels(x, inner)
                x = inner[-1] if len(inner) > 1 else None
        if labels or default:
            if groups and not groups[-1][2]:  # `case 1: ; case 2:` share one body
                groups[-1] = ([*groups[-1][0], *labels], groups[-1][1] or default, [], groups[-1][3])
            else:
                groups.append((labels, default, [], place))
        elif not groups:
            if x._kind_id != ast.DECL_STMT:
                raise LiftError("CP1136", x, what="a statement before the first case")
            before += _declarations(scope, x, span)
            continue
        if x is not None and x._kind_id != ast.NULL_STMT:
            groups[-1][2].append(x)
    cases = []
    for labels, default, statements, place in groups:
        first = ast.offsets(statements[0])[1] if statements else end
        inner_body = _sequence(scope, statements, at.path, first, end)
        cases.append(Case(tuple(labels), default, tuple(inner_body), place))
    made = Switch(value, tuple(cases), span)
    return [Block((*before, made), span)] if before else [made]


def _labels(c: Any, inner: list[Any]) -> list[int]:
    low = ast.evaluate(inner[0])
    if not isinstance(low, int):
        raise LiftError("CP1136", c, what="a label that is not a constant")
    if len(inner) == 3:  # case 1 ... 5:
        high = ast.evaluate(inner[1])
        if isinstance(high, int) and high - low < 256:
            return list(range(low, high + 1))
        raise LiftError("CP1136", c, what="a range of labels too wide")
    return [low]


def _stray_label(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    raise LiftError("CP1136", c, what="a case label inside another statement")


def _block(scope: Scope, c: Any, span: Span) -> list[Stmt]:
    inside = body(scope, c)
    return [Block(inside, span)] if inside else []


_LIFTERS: dict[int, Lifter] = {
    ast.COMPOUND_STMT: _block,
    ast.DECL_STMT: _declarations,
    ast.IF_STMT: _if,
    ast.FOR_STMT: _for,
    ast.WHILE_STMT: _while,
    ast.DO_STMT: _do,
    ast.SWITCH_STMT: _switch,
    ast.CASE_STMT: _stray_label,
    ast.DEFAULT_STMT: _stray_label,
    ast.BREAK_STMT: lambda scope, c, span: [Break(span)],
    ast.CONTINUE_STMT: lambda scope, c, span: [Continue(span)],
    ast.RETURN_STMT: _return,
    ast.NULL_STMT: lambda scope, c, span: [],
    ast.UNEXPOSED_STMT: _attributed,
    ast.ASM_STMT: lambda scope, c, span: lift_asm.statement(scope, c, span),
}
