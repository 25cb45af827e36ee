"""Expressions: literals, names, operators and conversions. Calls are in lift_call."""

from __future__ import annotations

import ast as python_ast
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from translator.diag.diagnostic import Span
from translator.frontend import ast, inline, lift_call, lift_global, lift_init, lift_lambda, lift_operator
from translator.frontend.convert import address_of, as_construct, convert, deref, zero
from translator.frontend.refusal import BY_KIND, LiftError
from translator.frontend.scope import Scope
from translator.model.expr import (
    LVALUES,
    AddrOf,
    Assign,
    Bitcast,
    Cast,
    Comma,
    Conditional,
    Construct,
    Decay,
    Deref,
    Expr,
    IncDec,
    Index,
    Literal,
    Member,
    Special,
    String,
    VarRef,
)
from translator.model.types import (
    BF16,
    BOOL,
    F16,
    I64,
    U16,
    U32,
    VOID,
    Array,
    Pointer,
    Scalar,
    Struct,
    Type,
    same,
)
from translator.model.walk import root_var

Lifter = Callable[[Scope, Any], Expr]
_ONE_LITERAL = re.compile(r"^[\s(]*(?:\w|\.|(?<=[eEpP])[-+]|'[^']*')+[\s)]*$")
_IDENTIFIER = re.compile(r"^[^\W\d]\w*$")
SPECIAL = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def lift(scope: Scope, c: Any) -> Expr:
    """The expression at a cursor. Raises LiftError if it has no counterpart in the model."""
    lifter = _lifters().get(c._kind_id)
    if lifter is None:
        raise _not_covered(c)
    made = lifter(scope, c)
    if c._kind_id in _NAMES_OBJECT and isinstance(made, LVALUES) and c.type.is_volatile_qualified():
        return volatile_object(made)
    return made


def volatile_object(e: Expr) -> Expr:
    """A volatile variable, member or element, reached through a volatile pointer: each access is kept.

    A local one stays as it is: nobody else can see it.
    """
    pointer = e.pointer if isinstance(e, Deref) else e.base if isinstance(e, Index) else None
    if pointer is not None and isinstance(pointer.type, Pointer) and pointer.type.volatile:
        return e
    root = root_var(e)
    if not isinstance(e.type, Scalar) or (root is not None and root.storage == "local" and not root.ref):
        return e
    address = AddrOf(e, Pointer(e.type), e.span)
    return Deref(Cast(address, Pointer(e.type, volatile=True), e.span), e.type, e.span)


def lift_lvalue(scope: Scope, c: Any, *, read_only: bool = False) -> Expr:
    """The object that an expression names, to be written, referred to or pointed at.

    With `read_only` a value will do in its place.
    """
    c = _bare(scope, c)
    is_call = c._kind_id == ast.CALL_EXPR
    made = lift_call.call(scope, c, wants_object=True) if is_call else lift(scope, c)
    if isinstance(made, Assign | IncDec) and isinstance(made.target, LVALUES):
        return Comma(made, made.target, made.type, made.span)
    if isinstance(made, Conditional) and is_lvalue(made.then) and is_lvalue(made.other) and not read_only:
        pointer = Pointer(made.type)
        arms = [address_of(x, pointer, x.span) for x in (made.then, made.other)]
        return deref(Conditional(made.cond, arms[0], arms[1], pointer, made.span), made.type, made.span)
    return made


def is_lvalue(e: Expr) -> bool:
    return isinstance(e, LVALUES) and not (isinstance(e, Member) and not _rooted(e))


def _rooted(e: Expr) -> bool:
    while isinstance(e, Member):
        e = e.object
    return isinstance(e, LVALUES)


def _bare(scope: Scope, c: Any) -> Any:
    """The expression inside parentheses and conversions that change nothing but qualifiers."""
    while True:
        if c._kind_id == ast.PAREN_EXPR:
            c = ast.operand_children(c)[-1]
        elif c._kind_id == ast.UNEXPOSED_EXPR:
            inner = ast.operand_children(c)
            if len(inner) != 1 or not same(scope.type_of(c), scope.type_of(inner[0])):
                return c
            c = inner[0]
        else:
            return c


def _not_covered(c: Any) -> LiftError:
    try:
        name = c.kind.name
    except ValueError:
        name = f"expression of kind {c._kind_id}"
    if name == "StmtExpr" or c._kind_id == _STMT_EXPR:
        name = "StmtExpr"
    code, what = BY_KIND.get(name, ("CP1127", name.lower().replace("_", " ")))
    return LiftError(code, c, what=what, text="", name=what)


_STMT_EXPR = 121


def value_of(scope: Scope, c: Any, to: Type) -> Expr:
    """The value of an expression, converted to `to`."""
    made = lift(scope, c)
    return decayed(made, to) if isinstance(made.type, Array) else convert(made, to, made.span)


def decayed(e: Expr, to: Type) -> Expr:
    """An array as a pointer to its first element."""
    if isinstance(e, String):
        return replace(e, type=to)
    return Decay(e, to, e.span)


# ---- literals and names


def _literal(scope: Scope, c: Any) -> Expr:
    t = scope.type_of(c)
    value = ast.evaluate(c)
    at, start, end = ast.place(c)
    name = named_text(scope, at.path, start, end)
    if name and not _ONE_LITERAL.match(scope.lifting.unit.macros.get(name, "0")):
        name = ""  # a part of what the macro stands for
    if value is None or isinstance(value, str):
        raise LiftError("CP1127", c, what="literal without a value")
    if t == BOOL:
        return Literal(bool(value), t, at, "" if name in ("true", "false") else name)
    if isinstance(t, Scalar) and t.is_float:
        return Literal(float(value), t, at, name)
    return Literal(int(value), t, at, name)


def named_text(scope: Scope, path: str, start: int, end: int) -> str:
    """The source text at a place if it is one identifier, else empty."""
    if not 0 < end - start <= 64:
        return ""
    text = scope.lifting.unit.source(path)[start:end].decode("utf-8", "replace")
    return text if _IDENTIFIER.match(text) else ""


def _string(scope: Scope, c: Any) -> Expr:
    try:
        value = python_ast.literal_eval(c.spelling)  # the escapes of C are Python's
    except (SyntaxError, ValueError):
        value = None
    if not isinstance(value, str):
        raise LiftError("CP1127", c, what="string literal with a prefix")
    return String(value, scope.type_of(c), ast.span(c))


def _null(scope: Scope, c: Any) -> Expr:
    return Literal(0, Pointer(VOID) if c._kind_id == ast.CXX_NULL_PTR_LITERAL_EXPR else I64, ast.span(c))


def _size_of(scope: Scope, c: Any) -> Expr:
    value = ast.evaluate(c)
    if not isinstance(value, int):
        raise LiftError("CP1135", c, what=scope.text(c))
    return Literal(value, scope.type_of(c), ast.span(c))


def constant(scope: Scope, c: Any) -> Literal | None:
    """A parenthesised or computed expression that the source spells as one name: a macro's constant."""
    at, start, end = ast.place(c)
    name = named_text(scope, at.path, start, end)
    if not name:
        return None
    t = scope.type_of(c)
    value = ast.evaluate(c)
    if not isinstance(t, Scalar) or not isinstance(value, int | float):
        return None
    if t == BOOL:
        return Literal(bool(value), t, at, name)
    return Literal(float(value) if t.is_float else int(value), t, at, name)


def _name(scope: Scope, c: Any) -> Expr:
    declaration = c.referenced
    if declaration is None or (not c.spelling and declaration == c):
        inner = ast.operand_children(c)
        if len(inner) == 1:  # a template parameter replaced by its argument
            made = lift(scope, inner[0])
            text = scope.text(c)
            return replace(made, name=text) if isinstance(made, Literal) and _IDENTIFIER.match(text) else made
        raise LiftError("CP1135", c, what=scope.text(c))
    known = scope.vars.get(declaration.data[0])
    if known is not None:
        return replace(known, span=ast.span(c)) if isinstance(known, VarRef) else known
    if declaration.spelling in SPECIAL and isinstance(t := scope.type_of(c), Struct):  # as a whole
        axes = tuple(Special(declaration.spelling, a, U32, ast.span(c)) for a in ("x", "y", "z"))
        return Construct(t, axes, ast.span(c))
    kind = declaration._kind_id
    if kind == ast.ENUM_CONSTANT_DECL:
        return Literal(declaration.enum_value, scope.type_of(c), ast.span(c), declaration.spelling)
    if kind in (ast.VAR_DECL, ast.PARM_DECL):
        return lift_global.reference(scope, c, declaration)
    if kind == ast.UNEXPOSED_DECL:
        return lift_global.reference(scope, c, ast.as_variable(declaration))
    if kind in (ast.FUNCTION_DECL, ast.CXX_METHOD):
        raise LiftError("CP1115", c, what=f"{declaration.spelling} used as a value")
    raise LiftError("CP1135", c, what=c.spelling or scope.text(c))


def _this(scope: Scope, c: Any) -> Expr:
    if scope.this is None:
        raise LiftError("CP1122", c, what="it captures `this`")
    return address_of(scope.this, Pointer(scope.this.type), ast.span(c))


def _member(scope: Scope, c: Any) -> Expr:
    declaration = c.referenced
    kind = declaration._kind_id if declaration is not None else 0
    if kind == ast.VAR_DECL:
        return lift_global.reference(scope, c, declaration)
    if kind == ast.ENUM_CONSTANT_DECL:
        return Literal(declaration.enum_value, scope.type_of(c), ast.span(c), declaration.spelling)
    if kind != ast.FIELD_DECL:
        raise LiftError("CP1115", c, what=f"{c.spelling} used as a value")
    inner = ast.operand_children(c)
    if not inner:
        if scope.this is None:
            raise LiftError("CP1122", c, what="it captures `this`")
        return member(scope.this, c.spelling, scope.type_of(c), ast.span(c))
    base = inner[0]
    named = base._kind_id == ast.DECL_REF_EXPR and base.spelling in SPECIAL and c.spelling in ("x", "y", "z")
    if named and base.referenced.data[0] not in scope.vars:
        return Special(base.spelling, c.spelling, U32, ast.span(c))
    return member(object_at(scope, base), c.spelling, scope.type_of(c), ast.span(c))


def object_at(scope: Scope, base: Any) -> Expr:
    """The object left of `.` or `->`, conversions to a base class left out (its fields are flattened)."""
    while base._kind_id in (ast.UNEXPOSED_EXPR, ast.PAREN_EXPR):
        inner = ast.operand_children(base)
        if len(inner) != 1:
            break
        t, u = scope.type_of(base), scope.type_of(inner[0])
        kinds = (Struct, Pointer)
        if not (isinstance(t, kinds) and isinstance(u, kinds)):
            break
        base = inner[0]
    made = lift_lvalue(scope, base)
    if isinstance(made.type, Pointer):
        return deref(made, made.type.to, made.span)
    return made


def member(object_: Expr, name: str, t: Type, span: Span) -> Expr:
    """`object.name`; a pointer back to an enclosing struct gets its real type by a cast."""
    if name == "__x" and object_.type in (F16, BF16):
        return Bitcast(object_, U16, span)  # the bits of a half
    object_ = as_construct(object_)
    declared = (
        next((f.type for f in object_.type.fields if f.name == name), None)
        if isinstance(object_.type, Struct)
        else None
    )
    if declared is None:
        raise LiftError("CP1127", None, what=f"member {name} of {object_.type}")
    if isinstance(object_, Construct) and inline.is_simple(object_):
        return object_.args[[f.name for f in object_.type.fields].index(name)]
    if isinstance(declared, Pointer) and not same(declared, t):
        return Cast(Member(object_, name, declared, span), t, span)
    return Member(object_, name, declared, span)


# ---- conversions


def _paren(scope: Scope, c: Any) -> Expr:
    named = constant(scope, c)
    return named if named is not None else lift(scope, ast.operand_children(c)[-1])


def _implicit(scope: Scope, c: Any) -> Expr:
    inner = ast.operand_children(c)
    if not inner:
        return _no_operand(scope, c)
    child = inner[-1]
    if child._kind_id == ast.LAMBDA_EXPR:
        return lift_lambda.closure(scope, child)
    made = lift(scope, child)
    to = scope.type_of(c)
    if isinstance(to, Array) and not isinstance(made.type, Array):
        to = Pointer(to.of)  # the compiler shows the array that a parameter was written as
    if same(made.type, to):
        return made
    if isinstance(made.type, Array) and isinstance(to, Pointer):
        return decayed(made, to)
    if isinstance(to, Struct) and isinstance(made.type, Struct):
        if not to.fields and not made.type.fields:
            return Construct(to, (), ast.span(c))
        raise LiftError("CP1128", c, derived=made.type, base=to)
    return convert(made, to, ast.span(c))


def _no_operand(scope: Scope, c: Any) -> Expr:
    """A default argument, or `T()`: both are constants the compiler knows, or zero."""
    at, start, end = ast.place(c)
    t = scope.type_of(c)
    value = ast.evaluate(c)
    if isinstance(value, int | float) and isinstance(t, Scalar):
        return convert(Literal(value, t, at), t) if t != BOOL else Literal(bool(value), t, at)
    if start != end or at.line:
        if t == VOID:
            raise LiftError("CP1127", c, what=f"`{scope.text(c)}`")
        return zero(t, at)  # T()
    raise LiftError("CP1127", c, what="default argument that is not a constant")


def _cast(scope: Scope, c: Any) -> Expr:
    named = constant(scope, c)
    if named is not None:
        return named
    span = ast.span(c)
    to = scope.type_of(c)
    inner = ast.operand_children(c)
    if not inner:
        return zero(to, span)
    child = inner[-1]
    if child._kind_id == ast.INIT_LIST_EXPR:
        return as_construct(lift_init.init(scope, child, to))
    if to == VOID:
        return lift(scope, child)
    bare = child
    while bare._kind_id == ast.PAREN_EXPR:
        bare = ast.operand_children(bare)[-1]
    if bare._kind_id in _NAMES_OBJECT and not same(scope.type_of(bare), to):
        # A value would be wrapped in a conversion by now: this is a cast to a reference, `(T&)x`.
        pointer = Pointer(to)
        return deref(
            Cast(address_of(lift(scope, bare), Pointer(scope.type_of(bare))), pointer, span, True), to, span
        )
    made = lift(scope, child)
    if isinstance(made.type, Array) and isinstance(to, Pointer):
        made = decayed(made, Pointer(made.type.of))
    if isinstance(to, Struct) and isinstance(made.type, Struct) and not same(to, made.type):
        raise LiftError("CP1128", c, derived=made.type, base=to)
    if same(made.type, to):
        if isinstance(made, Cast) and not made.explicit:
            return replace(made, explicit=True, span=span)
        return made
    return convert(made, to, span, explicit=True)


_NAMES_OBJECT = frozenset({ast.DECL_REF_EXPR, ast.MEMBER_REF_EXPR, ast.ARRAY_SUBSCRIPT_EXPR})


def _init_list(scope: Scope, c: Any) -> Expr:
    return as_construct(lift_init.init(scope, c, scope.type_of(c)))


def _compound_literal(scope: Scope, c: Any) -> Expr:
    return as_construct(lift_init.init(scope, ast.operand_children(c)[-1], scope.type_of(c)))


@cache
def _lifters() -> dict[int, Lifter]:
    """Kind of cursor → what lifts it; made on first use, when all of these modules are loaded."""
    return {
        ast.INTEGER_LITERAL: _literal,
        ast.FLOATING_LITERAL: _literal,
        ast.CHARACTER_LITERAL: _literal,
        ast.CXX_BOOL_LITERAL_EXPR: _literal,
        ast.STRING_LITERAL: _string,
        ast.CXX_NULL_PTR_LITERAL_EXPR: _null,
        ast.GNU_NULL_EXPR: _null,
        ast.CXX_UNARY_EXPR: _size_of,
        ast.DECL_REF_EXPR: _name,
        ast.MEMBER_REF_EXPR: _member,
        ast.CXX_THIS_EXPR: _this,
        ast.PAREN_EXPR: _paren,
        ast.UNARY_OPERATOR: lift_operator.unary,
        ast.BINARY_OPERATOR: lift_operator.binary,
        ast.COMPOUND_ASSIGNMENT_OPERATOR: lift_operator.compound,
        ast.CONDITIONAL_OPERATOR: lift_operator.conditional,
        ast.ARRAY_SUBSCRIPT_EXPR: lift_operator.subscript,
        ast.UNEXPOSED_EXPR: _implicit,
        ast.CALL_EXPR: lift_call.call,
        ast.INIT_LIST_EXPR: _init_list,
        ast.COMPOUND_LITERAL_EXPR: _compound_literal,
        ast.LAMBDA_EXPR: lift_lambda.closure,
        **dict.fromkeys(ast.CASTS, _cast),
    }
