"""Constructors: copies as values, memberwise ones as struct values, others as functions giving a struct."""

from __future__ import annotations

from typing import Any

from translator.frontend import ast, inline, lift_call, lift_expr, lift_init
from translator.frontend.convert import as_construct, convert, zero
from translator.frontend.lift_types import members
from translator.frontend.refusal import LiftError
from translator.frontend.scope import Callee, Scope
from translator.model.expr import (
    Assign,
    Bitcast,
    Call,
    Construct,
    Expr,
    InitList,
    Literal,
    Member,
    VarRef,
)
from translator.model.stmt import Decl, ExprStmt, Return
from translator.model.types import Array, Scalar, Struct, Type, same
from translator.model.walk import walk_expr


def construct(scope: Scope, c: Any, target: Any) -> Expr:
    """The value that a constructor call makes."""
    t = scope.type_of(c)
    if isinstance(t, Array):
        return _elements(scope, c, target, t)
    return _object(scope, c, target, t)


MOST_ELEMENTS = 64  # whose values are written out, one by one


def _elements(scope: Scope, c: Any, target: Any, t: Array) -> Expr:
    """An array whose elements are all made by one constructor call."""
    span = ast.span(c)
    if isinstance(t.of, Array) or t.count is None:
        raise LiftError("CP1130", c, name=str(t), what="elements with a constructor")
    made = as_construct(_object(scope, c, target, t.of))
    if _is_zero(made):
        return InitList((), t, span)
    if t.count > MOST_ELEMENTS:
        raise LiftError(
            "CP1130", c, name=str(t), what=f"more than {MOST_ELEMENTS} elements with a constructor"
        )
    return InitList((made,) * t.count, t, span)


def _is_zero(e: Expr) -> bool:
    """Whether it is surely made of nothing but zero bits, which is what an empty list leaves."""
    if isinstance(e, Construct):
        return all(map(_is_zero, e.args))
    return isinstance(e, Literal) and repr(e.value) in ("0", "0.0", "False")


def _object(scope: Scope, c: Any, target: Any, t: Type) -> Expr:
    """The value of type `t` that a constructor call makes."""
    span = ast.span(c)
    args = lift_call.arguments(c)
    if len(args) == 1 and not ast.has_written_body(target) and (scope.type_of(args[0]) == t):
        return lift_expr.value_of(scope, args[0], t)
    if isinstance(t, Scalar):
        return _small_float(scope, c, t, args)
    if not isinstance(t, Struct):
        raise LiftError("CP1127", c, what=f"constructor of {t}")
    if not t.fields:
        return Construct(t, (), span)
    header = lift_call.stub_header(target)
    if header == "vector_types.h" and t.name == "dim3":
        return _dim3(scope, target, t, args, span)
    if header == "half_types.h" and args:
        return _pair(scope, c, target, t, args)
    if not ast.has_written_body(target):
        if args:
            raise LiftError("CP1101", c, name=f"the constructor of {t}")
        return default_value(scope, t, span)
    callee: Callee = scope.lifting.lift_function(scope.lifting, target, this_type=t, by_pointer=False)
    wanted = lift_call.parameter_types(target)
    given = tuple(
        lift_call.argument(scope, a, w, target, k)
        for k, (a, w) in enumerate(zip(args, wanted, strict=True))
        if k not in callee.dropped
    )
    made = _memberwise(callee, given, t, span)
    return made if made is not None else Call(callee.function.symbol, given, t, span)


def _small_float(scope: Scope, c: Any, t: Scalar, args: list[Any]) -> Expr:
    if not args:
        return zero(t, ast.span(c))
    value = lift_expr.lift(scope, args[0])
    if isinstance(value.type, Struct):
        return Bitcast(value, t, ast.span(c))  # from __half_raw
    return convert(value, t, ast.span(c))


def _dim3(scope: Scope, target: Any, t: Struct, args: list[Any], span: Any) -> Expr:
    wanted = lift_call.parameter_types(target)
    given = [
        lift_call.argument(scope, a, w, target, k) for k, (a, w) in enumerate(zip(args, wanted, strict=True))
    ]
    if len(given) == 1 and isinstance(given[0].type, Struct):
        source = given[0]
        return Construct(t, tuple(Member(source, f.name, f.type, span) for f in t.fields), span)
    return Construct(t, tuple(given), span)


def _pair(scope: Scope, c: Any, target: Any, t: Struct, args: list[Any]) -> Expr:
    wanted = lift_call.parameter_types(target)
    given = [
        lift_call.argument(scope, a, w, target, k) for k, (a, w) in enumerate(zip(args, wanted, strict=True))
    ]
    if len(given) == 1:
        return Bitcast(given[0], t, ast.span(c))
    return Construct(t, tuple(given), ast.span(c))


def default_value(scope: Scope, t: Struct, span: Any) -> Expr:
    """`T()` of a class without a constructor of its own: zero but for initialisers in the class."""
    values = [as_construct(zero(f.type, span)) for f in t.fields]
    for name, cursor in field_initialisers(scope, t).items():
        k = next(i for i, f in enumerate(t.fields) if f.name == name)
        values[k] = as_construct(lift_init.init(scope, cursor, t.fields[k].type))
    return Construct(t, tuple(values), span)


def field_initialisers(scope: Scope, t: Struct) -> dict[str, Any]:
    """In-class initialisers of a struct's own fields: name → cursor."""
    found: dict[str, Any] = {}
    declaration = scope.types.declarations.get(t)
    for part in declaration.type.get_fields() if declaration is not None else ():
        inner = ast.field_initialiser(part)
        if inner is not None:
            found[part.spelling] = inner
    return found


def leaves_uninitialised(scope: Scope, c: Any) -> bool:
    """True if the initialiser `c` of a variable is a constructor that does nothing: `T x;`."""
    if c._kind_id != ast.CALL_EXPR or lift_call.arguments(c):
        return False
    target = c.referenced
    if target is None or target._kind_id != ast.CONSTRUCTOR:
        return False
    t = scope.type_of(c)
    while isinstance(t, Array):
        t = t.of
    if ast.has_written_body(target) and not _is_empty(target):
        return False
    return not isinstance(t, Struct) or not _does_something(scope, t)


def _is_empty(constructor: Any) -> bool:
    """True of `T() {}`: no initialiser list, no statement."""
    parts = ast.children(constructor.get_definition())
    if any(
        x._kind_id == ast.MEMBER_REF or ast.UNEXPOSED_EXPR <= x._kind_id < ast.UNEXPOSED_STMT for x in parts
    ):
        return False
    return all(not ast.children(x) for x in parts if x._kind_id == ast.COMPOUND_STMT)


def _does_something(scope: Scope, t: Struct) -> bool:
    if field_initialisers(scope, t):
        return True
    declaration = scope.types.declarations.get(t)
    if declaration is None:
        return False
    bases = [x for x in members(declaration) if x._kind_id == ast.CXX_BASE_SPECIFIER]
    for part in (*bases, *declaration.type.get_fields()):
        inner: Type = scope.type_of(part)
        while isinstance(inner, Array):
            inner = inner.of
        if isinstance(inner, Struct) and (_has_default_body(scope, inner) or _does_something(scope, inner)):
            return True
    return False


def _has_default_body(scope: Scope, t: Struct) -> bool:
    constructor = default_constructor(scope, t)
    return constructor is not None and ast.has_written_body(constructor) and not _is_empty(constructor)


def default_constructor(scope: Scope, t: Struct) -> Any:
    """The declared default constructor of a struct, None if it has none of its own."""
    declaration = scope.types.declarations.get(t)
    if declaration is None:
        return None
    for part in members(declaration):
        if part._kind_id == ast.CONSTRUCTOR and part.is_default_constructor():
            return part
    return None


def _memberwise(callee: Callee, given: tuple[Expr, ...], t: Struct, span: Any) -> Expr | None:
    """The struct value of a constructor that only gives each field a value, or None."""
    body = callee.function.body
    if len(body) != len(t.fields) + 2 or not isinstance(body[0], Decl) or not isinstance(body[-1], Return):
        return None
    self_var = body[0].var
    values: list[Expr] = []
    for f, s in zip(t.fields, body[1:-1], strict=True):
        if not isinstance(s, ExprStmt) or not isinstance(s.expr, Assign) or s.expr.op:
            return None
        target = s.expr.target
        if (
            not isinstance(target, Member)
            or target.name != f.name
            or target.object != VarRef(self_var, target.object.span)
        ):
            return None
        values.append(s.expr.value)
    used = [x.var for v in values for x in walk_expr(v) if isinstance(x, VarRef)]
    if self_var in used or not all(same(v.type, f.type) for v, f in zip(values, t.fields, strict=True)):
        return None
    params = callee.function.params
    costly = [p for p, a in zip(params, given, strict=True) if not inline.is_simple(a)]
    if len(costly) > 1 or any(used.count(p) != 1 for p in costly):
        return None
    by_var = dict(zip(params, given, strict=True))
    return Construct(t, tuple(inline.substituted(v, by_var) for v in values), span)
