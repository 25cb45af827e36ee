"""Calls: device functions, methods, operators, constructors, library functions, half arithmetic."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from clang.cindex import conf

from translator.diag.diagnostic import Sink
from translator.frontend import ast, builtins, inline, lift_construct, lift_expr, lift_groups, lift_half
from translator.frontend.clang import HEADERS
from translator.frontend.convert import convert, deref
from translator.frontend.lift_types import (
    canonical,
    is_function_pointer,
    is_lvalue_reference,
    is_reference,
    strip_reference,
)
from translator.frontend.refusal import BY_FUNCTION, BY_HEADER, LiftError
from translator.frontend.scope import Callee, Scope
from translator.model.expr import (
    Assign,
    Call,
    Comma,
    Construct,
    Expr,
    Intrinsic,
    Literal,
    Member,
)
from translator.model.types import (
    BOOL,
    F16,
    F64,
    I32,
    Array,
    Pointer,
    Scalar,
    Struct,
    same,
)

_LIFTED_HEADERS = ("standard_library.h", "complex_numbers.h")
_STUBS = str(HEADERS)


def call(scope: Scope, c: Any, *, wants_object: bool = False) -> Expr:
    """A call expression; with `wants_object` the object that a returned reference names."""
    target = c.referenced
    if target is None or target._kind_id in _VARIABLES:
        target = _by_template_parameter(scope, c, target)
    kind = target._kind_id
    if kind == ast.CONSTRUCTOR:
        return lift_construct.construct(scope, c, target)
    if kind == ast.CONVERSION_FUNCTION:
        return _conversion(scope, c, target)
    if kind not in (ast.FUNCTION_DECL, ast.CXX_METHOD):
        raise LiftError("CP1135", c, what=f"call of {c.spelling or scope.text(c)}")
    header = stub_header(target)
    if header == "standard_library.h" and target.spelling in ("forward", "move"):
        return lift_expr.lift_lvalue(scope, arguments(c)[0], read_only=not wants_object)
    if header:
        small = lift_half.operator(scope, c, target)
        if small is not None:
            return small
        if header == "groups.h":
            return lift_groups.call(scope, c, target)
        if not (header in _LIFTED_HEADERS and ast.has_written_body(target)) or _is_std_intrinsic(target):
            return _library(scope, c, target, header)
    if kind == ast.CXX_METHOD and not ast.has_written_body(target):
        trivial = _implicit_method(scope, c, target)
        if trivial is not None:
            return trivial
    return _device_function(scope, c, target, wants_object)


def stub_header(declaration: Any) -> str:
    """The stub header that declares something, "builtin" for what the compiler knows, "" for user code."""
    path = ast.span(declaration).path
    if not path or declaration.spelling.startswith("__builtin_"):
        return "builtin"
    return PurePath(path).name if path.startswith(_STUBS) else ""


def _is_std_intrinsic(target: Any) -> bool:
    return target.spelling in builtins.STD_INTRINSICS and target.semantic_parent.spelling == "std"


_VARIABLES = (ast.VAR_DECL, ast.PARM_DECL, ast.FIELD_DECL)


def _by_template_parameter(scope: Scope, c: Any, variable: Any) -> Any:
    """The function that a template parameter stands for. Raises LiftError for calls through pointers."""
    inner = ast.operand_children(c)
    callee = inner[0] if inner else None
    while callee is not None:
        target = callee.referenced
        if target is not None and target._kind_id == ast.FUNCTION_DECL:
            return target
        inner = ast.operand_children(callee)
        callee = inner[-1] if inner and (target is None or target == callee) else None
    shown = " ".join(scope.text(c).split())
    shown = shown if len(shown) < 60 else shown[:57] + "..."
    if variable is not None and not is_function_pointer(variable.type):
        raise LiftError("CP1135", c, what=f"call of {variable.spelling}")
    through = variable if variable is not None else next(iter(ast.operand_children(c)), None)
    code = "CP1115" if through is not None and is_function_pointer(through.type) else "CP1135"
    raise LiftError(code, c, what=f"call in {shown}")


# ---- arguments


def arguments(c: Any) -> list[Any]:
    """Argument cursors of a call; of an operator's call the object is among them."""
    lib = conf.lib
    made = [lib.clang_Cursor_getArgument(c, k) for k in range(lib.clang_Cursor_getNumArguments(c))]
    for x in made:
        x._tu = c._tu
    return made


def parameter_types(target: Any) -> list[Any]:
    return list(canonical(target.type).argument_types())


def argument(scope: Scope, c: Any, wanted: Any, target: Any, position: int) -> Expr:
    """One argument for a parameter of clang type `wanted`."""
    if ast.span(c).line == 0 and not ast.children(c):
        return _default_argument(scope, c, target, position)
    if is_lvalue_reference(wanted):
        read_only = strip_reference(wanted).is_const_qualified()
        made = lift_expr.lift_lvalue(scope, c, read_only=read_only)
        to = scope.types.of(wanted)
        if isinstance(made, Comma) or same(made.type, to):
            return made
        return lift_expr.lift(scope, c)
    return lift_expr.value_of(scope, c, scope.types.of_parameter(wanted))


def _default_argument(scope: Scope, c: Any, target: Any, position: int) -> Expr:
    t = scope.type_of(c)
    value = ast.evaluate(c)
    if isinstance(value, int | float) and isinstance(t, Scalar):
        return Literal(
            bool(value) if t == BOOL else float(value) if t.is_float else int(value), t, ast.span(c)
        )
    if isinstance(t, Pointer) and value in (0, None):
        return Literal(0, t, ast.span(c))
    parameter = arguments(target)[position]
    given = ast.field_initialiser(parameter)
    if given is None:
        raise LiftError("CP1127", c, what=f"default argument of {target.spelling}")
    return lift_expr.value_of(scope, given, t)


# ---- device functions and methods


def _device_function(scope: Scope, c: Any, target: Any, wants_object: bool) -> Expr:
    if any(x._kind_id == ast.CUDAGLOBAL_ATTR for x in ast.children(target)):
        raise LiftError("CP1112", c, name=target.spelling)
    args = arguments(c)
    is_method = target._kind_id == ast.CXX_METHOD
    this: list[Expr] = []
    static = is_method and target.is_static_method()
    if is_method:
        children = ast.operand_children(c)
        is_operator_call = len(args) == len(parameter_types(target)) + 1
        if is_operator_call:
            if not static:
                this = [lift_expr.object_at(scope, args[0])]
            args = args[1:]
        elif not static:
            this = [_method_object(scope, c, children[0])]
    if conf.lib.clang_isFunctionTypeVariadic(target.type):
        raise LiftError("CP1134", c, name=target.spelling)
    constant = _constant_call(scope, c, target)
    if constant is not None:
        return constant
    gives_reference = is_reference(target.result_type)
    if gives_reference and not wants_object:
        made = _element_access(scope, c, target, this, args)
        if made is not None:
            return made
    callee, given = _prepared(scope, c, target, this, args, by_pointer=wants_object and gives_reference)
    span = ast.span(c)
    if callee.by_pointer:
        inlined = inline.object_of(callee.function, given)
        if inlined is not None:
            return inlined
        pointer = Call(callee.function.symbol, tuple(given), callee.function.result, span)
        return deref(pointer, scope.types.of(target.result_type), span)
    return Call(callee.function.symbol, tuple(given), callee.function.result, span)


def _constant_call(scope: Scope, c: Any, target: Any) -> Expr | None:
    """The value of a call of a constexpr function, if the compiler can compute it."""
    definition = target.get_definition()
    if definition is None:
        return None
    path, start, _ = ast.offsets(definition)
    head = scope.lifting.unit.source(path)[start : start + 200].split(b"(", 1)[0]
    t = scope.type_of(c)
    if b"constexpr" not in head or not isinstance(t, Scalar):
        return None
    value = ast.evaluate(c)
    if not isinstance(value, int | float):
        return None
    return Literal(bool(value) if t == BOOL else float(value) if t.is_float else int(value), t, ast.span(c))


def _prepared(
    scope: Scope, c: Any, target: Any, this: list[Expr], args: list[Any], *, by_pointer: bool
) -> tuple[Callee, list[Expr]]:
    """The lifted callee and the arguments it is given."""
    callee = scope.lifting.lift_function(
        scope.lifting, target, this_type=this[0].type if this else None, by_pointer=by_pointer
    )
    made = list(this) if callee.has_this else []
    made += [_captured(scope, c, x) for x in callee.captures]
    wanted = parameter_types(target)
    made += [
        argument(scope, arg, t, target, k)
        for k, (arg, t) in enumerate(zip(args, wanted, strict=False))
        if k not in callee.dropped
    ]
    return callee, made


def _element_access(scope: Scope, c: Any, target: Any, this: list[Expr], args: list[Any]) -> Expr | None:
    """`v[i]` by an operator or method that only names an element: that element; else None."""
    definition = target.get_definition()
    if definition is None or not _only_returns(definition):
        return None
    lifting = scope.lifting
    lifting.sink, sink = Sink(), lifting.sink
    try:
        callee, given = _prepared(scope, c, target, this, args, by_pointer=True)
        refused = lifting.sink.refused
    except LiftError:
        return None
    finally:
        lifting.sink = sink
    return None if refused else inline.object_of(callee.function, given)


def _only_returns(definition: Any) -> bool:
    for part in ast.children(definition):
        if part._kind_id == ast.COMPOUND_STMT:
            return [x._kind_id for x in ast.children(part)] == [ast.RETURN_STMT]
    return False


def _captured(scope: Scope, c: Any, declaration: Any) -> Expr:
    known = scope.vars.get(declaration.data[0])
    if known is None:
        raise LiftError("CP1122", c, what=f"it captures {declaration.spelling} and is called elsewhere")
    return known


def _method_object(scope: Scope, c: Any, callee: Any) -> Expr:
    """The object a method is called on."""
    while callee._kind_id in (ast.UNEXPOSED_EXPR, ast.PAREN_EXPR):
        callee = ast.operand_children(callee)[-1]
    inner = ast.operand_children(callee)
    if inner:
        return lift_expr.object_at(scope, inner[0])
    if scope.this is None:
        raise LiftError("CP1122", c, what="it captures `this`")
    return scope.this


def _implicit_method(scope: Scope, c: Any, target: Any) -> Expr | None:
    """Assignment operators that the compiler makes: memberwise copies."""
    if target.spelling != "operator=":
        return None
    left, right = arguments(c)
    to = lift_expr.lift_lvalue(scope, left)
    return Assign(to, "", lift_expr.value_of(scope, right, to.type), to.type, ast.span(c))


# ---- user conversions


def _conversion(scope: Scope, c: Any, target: Any) -> Expr:
    """`operator T()`: of the small floats a Cast, of the user's types a call."""
    inner = ast.operand_children(c)
    callee = inner[0] if inner else c
    if not stub_header(target):
        object_ = _method_object(scope, c, callee)
        made: Callee = scope.lifting.lift_function(
            scope.lifting, target, this_type=object_.type, by_pointer=False
        )
        args = (object_,) if made.has_this else ()
        return Call(made.function.symbol, args, made.function.result, ast.span(c))
    object_ = _method_object(scope, c, callee)
    result = scope.types.of(target.result_type)
    if object_.type in lift_half.SMALL_FLOATS and isinstance(result, Scalar):
        return convert(object_, result, ast.span(c), explicit=False)
    if isinstance(object_.type, Struct) and object_.type.name == "dim3" and isinstance(result, Struct):
        return Construct(
            result, tuple(Member(object_, f.name, f.type, ast.span(c)) for f in result.fields), ast.span(c)
        )
    raise LiftError("CP1127", c, what=f"conversion of {object_.type} to {result}")


# ---- library functions


def _library(scope: Scope, c: Any, target: Any, header: str) -> Expr:
    name = target.spelling
    code = BY_FUNCTION.get(name) or BY_HEADER.get(header)
    if code:
        raise LiftError(code, c, name=name, what=name)
    span = ast.span(c)
    wanted = parameter_types(target)
    cursors = arguments(c)
    args: list[Expr] = []
    for k, arg in enumerate(cursors):
        if k < len(wanted):
            args.append(argument(scope, arg, wanted[k], target, k))
        else:
            made = lift_expr.lift(scope, arg)
            args.append(
                lift_expr.decayed(made, Pointer(made.type.of)) if isinstance(made.type, Array) else made
            )
    result = scope.types.of(target.result_type)
    if name.startswith("make_") and isinstance(result, Struct):
        return Construct(result, tuple(args), span)
    if name == "make_half":
        return convert(args[0], F16, span, explicit=True)
    if name == "__builtin_assume_aligned":
        return convert(args[0], scope.type_of(c), span)
    if name == "__builtin_expect":
        return args[0]
    if name in ("__builtin_unreachable", "__builtin_assume", "__assume"):
        return Literal(0, I32, span)  # says nothing about what is computed
    if name.startswith("__builtin_"):
        value = ast.evaluate(c)
        if isinstance(value, int | float) and isinstance(result, Scalar):
            text = lift_expr.named_text(scope, *_place(c))
            return Literal(float(value) if result.is_float else int(value), result, span, text)
    in_std = target.semantic_parent is not None and target.semantic_parent.spelling == "std"
    # pow(float, int) is pow(double, double); of other templates that give a double, pointers are arguments
    promoted = result == F64 and name in builtins.FLOAT_OVERLOADS and target.get_num_template_arguments() > 0
    by_result = promoted or name in builtins.BY_RESULT
    name = builtins.c_name(name, result if by_result else args[0].type if args else None, in_std)
    if name in builtins.SAME_TYPE:
        args = [convert(a, result, a.span) for a in args]
    elif name in builtins.CLASSIFY:
        args = [convert(a, builtins.math_type(a.type), a.span) for a in args]
    elif promoted:
        args = [convert(a, F64, a.span) for a in args]
    return Intrinsic(name, tuple(args), result, span)


def _place(c: Any) -> tuple[str, int, int]:
    at, start, end = ast.place(c)
    return at.path, start, end
