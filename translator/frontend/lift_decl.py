"""A kernel out of the compiler's tree: its function, the device functions it reaches, its globals."""

from __future__ import annotations

import re
import sys
from ctypes import ArgumentError
from dataclasses import dataclass, replace
from typing import Any

from clang.cindex import TemplateArgumentKind, TypeKind, conf

from translator.diag.diagnostic import Sink, Span
from translator.frontend import ast, lift_init, lift_lambda, lift_stmt
from translator.frontend.clang import HEADERS, ClangError, Unit
from translator.frontend.constants import integer_value
from translator.frontend.convert import as_construct
from translator.frontend.inline import with_values
from translator.frontend.lift_construct import field_initialisers
from translator.frontend.lift_types import Types, is_reference
from translator.frontend.refusal import LiftError
from translator.frontend.scope import Callee, Lifting, Scope
from translator.model.expr import Assign, Call, Construct, Expr, Member, Var, VarRef
from translator.model.kernel import Function, Global
from translator.model.stmt import Decl, ExprStmt, Return, Stmt
from translator.model.types import VOID, Pointer, Struct, Type
from translator.model.walk import map_stmts, walk_exprs

OPERATOR_WORDS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "=": "assign", "==": "eq", "!=": "ne",
    "<": "lt", ">": "gt", "<=": "le", ">=": "ge", "+=": "iadd", "-=": "isub", "*=": "imul", "/=": "idiv",
    "%=": "imod", "<<": "shl", ">>": "shr", "&": "and", "|": "or", "^": "xor", "~": "inv", "!": "not",
    "&&": "land", "||": "lor", "++": "inc", "--": "dec", "()": "call", "[]": "at", "->": "arrow",
}  # fmt: skip


_DEPTH = 8000  # frames; each level of nesting in the source takes two to five


@dataclass(frozen=True, slots=True)
class LiftedKernel:
    """A kernel and what it needs of the unit; device functions come before their callers."""

    kernel: Function
    functions: tuple[Function, ...]
    globals: tuple[Global, ...]


def lift_kernel(unit: Unit, cursor: Any, sink: Sink, *, partial: bool = False) -> LiftedKernel | None:
    """The kernel at a function definition (for a template: of an instantiation), None if refused.

    Everything that refuses it is reported to `sink`, not only the first. With `partial` what could be read of
    a refused kernel is given all the same: refused statements are `Unsupported` in it, or missing.
    """
    lifting = Lifting(unit, sink, Types(), lift_function)
    already = len(sink.items)
    kernel = None
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        kernel = _function(lifting, cursor, None, by_pointer=False, is_kernel=True).function
    except LiftError as error:
        lifting.report(error, cursor)
    except (RecursionError, ArgumentError) as error:
        if not isinstance(error, RecursionError) and "RecursionError" not in str(error):
            raise
        sink.report("CP1103", ast.span(cursor), name=cursor.spelling)
    finally:
        sys.setrecursionlimit(limit)
    _report_errors(lifting)
    if kernel is None or (not partial and any(d.refuses for d in sink.items[already:])):
        return None
    functions = _reached(kernel, [c.function for c in lifting.functions.values()])
    return LiftedKernel(kernel, functions, tuple(lifting.globals.values()))


def _reached(kernel: Function, lifted: list[Function]) -> tuple[Function, ...]:
    """Those of the lifted functions that are still called: some were put in place of their call."""
    by_symbol = {f.symbol: f for f in lifted}
    wanted: set[str] = set()
    open_list = [kernel]
    while open_list:
        for e in walk_exprs(open_list.pop().body):
            if isinstance(e, Call) and e.symbol not in wanted:
                wanted.add(e.symbol)
                open_list.append(by_symbol[e.symbol])
    return tuple(f for f in lifted if f.symbol in wanted)


def _report_errors(lifting: Lifting) -> None:
    """Refuse for each compiler error inside a declaration that the kernel uses."""
    used = [*lifting.checked.values(), *((r.spelling, r) for r in lifting.types.records.values())]
    for name, declaration in used:
        path, start, end = ast.offsets(declaration)
        if path.startswith(str(HEADERS)):
            continue
        for e in lifting.unit.errors_in(path, start, end):
            if _of_another_instantiation(e, declaration):
                continue
            at = Span(e.path, e.line, e.column, e.line, e.column)
            launch = re.match(r"reference to __global__ function '([^']*)' in __(global|device)__", e.message)
            if launch:
                lifting.sink.report("CP1112", at, name=launch.group(1))
                continue
            lifting.sink.report("CP1100", at, what=name or "an unnamed type", message=e.message)


def _of_another_instantiation(e: ClangError, declaration: Any) -> bool:
    """True of an error that arose in the same template with other arguments than those of `declaration`."""
    count = declaration.get_num_template_arguments() if declaration._kind_id == ast.FUNCTION_DECL else 0
    for name in e.within if count > 0 else ():
        base, _, rest = name.partition("<")
        theirs = _split(rest.removesuffix(">"))
        if base.split("::")[-1] != declaration.spelling or len(theirs) != count:
            continue
        for k, text in enumerate(theirs):
            kind = template_argument_kind(declaration, k)
            if kind == TemplateArgumentKind.TYPE:
                t = declaration.get_template_argument_type(k)
                if text not in (t.spelling, t.get_canonical().spelling):
                    return True
            elif kind == TemplateArgumentKind.INTEGRAL and re.fullmatch(r"-?\d+", text):
                other = int(text) != declaration.get_template_argument_value(k)
                if other:
                    return True
        return False
    return False


def template_argument_kind(declaration: Any, k: int) -> Any:
    """The kind of a template argument, None for those that the bindings have no name for."""
    try:
        return declaration.get_template_argument_kind(k)
    except ValueError:
        return None


def lift_function(
    lifting: Lifting, target: Any, *, this_type: Type | None = None, by_pointer: bool = False
) -> Callee:
    """A device function, method or constructor, lifted once per type of its object.

    `by_pointer` asks for the variant of a reference-returning function that gives an address.
    """
    definition = target.get_definition()
    if definition is None:
        raise LiftError("CP1101", None, name=target.spelling)
    key = (definition.data[0], this_type, by_pointer)
    if key in lifting.functions:
        return lifting.functions[key]
    if key in lifting.open_functions:
        raise LiftError("CP1102", None, name=target.spelling)
    lifting.open_functions.append(key)
    try:
        made = _function(lifting, definition, this_type, by_pointer=by_pointer, is_kernel=False)
    finally:
        lifting.open_functions.pop()
    by_symbol = {f.function.symbol: f.function for f in lifting.functions.values()}
    made = replace(made, function=with_values(made.function, by_symbol))
    lifting.functions[key] = made
    return made


def _function(
    lifting: Lifting, c: Any, this_type: Type | None, *, by_pointer: bool, is_kernel: bool
) -> Callee:
    parts = ast.children(c)
    lifting.checked[c.data[0]] = (c.spelling, c)
    code = next((x for x in parts if x._kind_id == ast.COMPOUND_STMT), None)
    if code is None:
        raise LiftError("CP1101", None, name=c.spelling)
    template_args = _template_args(c)
    scope = Scope(lifting, c.spelling, by_pointer=by_pointer, code=code)
    scope.template_values = {n: int(v) for n, v in template_args if re.fullmatch(r"-?\d+", v)}
    scope.template_values |= {n: int(v == "true") for n, v in template_args if v in ("true", "false")}
    is_constructor = c._kind_id == ast.CONSTRUCTOR
    params: list[Var] = []
    captures: tuple[Any, ...] = ()
    has_this = False
    closure = c._kind_id == ast.CXX_METHOD and lift_lambda.is_lambda(c.semantic_parent)
    if closure:
        captures = lift_lambda.captured(c)
        params += [_capture(scope, x) for x in captures]
    elif is_constructor and this_type is not None:
        scope.this = VarRef(lifting.new_var("self", this_type, span=ast.span(c)))
    elif this_type is not None:
        this = lifting.new_var(
            "self", this_type, "param", ref=True, const=c.is_const_method(), span=ast.span(c)
        )
        scope.this = VarRef(this)
        has_this = not (isinstance(this_type, Struct) and not this_type.fields)
        params += [this] if has_this else []
    dropped: set[int] = set()
    for k, p in enumerate(x for x in parts if x._kind_id == ast.PARM_DECL):
        t = scope.types.of_parameter(p.type)
        var = scope.declare(p, p.spelling or f"arg{k}", "param", kind=t)
        if isinstance(t, Struct) and not t.fields and not is_kernel:
            dropped.add(k)
        else:
            params.append(var)
    result = _result_type(scope, c, by_pointer)
    statements: tuple[Stmt, ...] = lift_stmt.body(scope, code)
    if is_constructor and isinstance(scope.this, VarRef):
        result = scope.this.type
        statements = _constructor_body(scope, scope.this, parts, statements)
    hoisted = tuple(Decl(v, None, v.span) for v in scope.hoisted)
    max_threads, min_blocks = _launch_bounds(scope, parts) if is_kernel else (0, 0)
    for x in parts:
        if x._kind_id == ast.ANNOTATE_ATTR and x.spelling.startswith("__cluster_dims__"):
            lifting.sink.report("CP1140", ast.span(x), what=x.spelling)
    pattern = conf.lib.clang_getSpecializedCursorTemplate(c)
    path, start, _ = ast.offsets(pattern if pattern is not None else c)
    function = Function(
        lifting.symbol(_symbol(c, this_type)) if not is_kernel else lifting.symbol(c.spelling),
        c.spelling,
        tuple(params),
        result,
        hoisted + statements,
        ast.span(c),
        is_kernel,
        template_args,
        max_threads,
        min_blocks,
        lifting.comments_of(path).before(start) if path else (),
    )
    return Callee(function, by_pointer, frozenset(dropped), has_this, captures)


def _capture(scope: Scope, declaration: Any) -> Var:
    var = scope.declare(declaration, declaration.spelling, "param")
    var = replace(var, ref=True)
    scope.vars[declaration.data[0]] = VarRef(var)
    return var


def _result_type(scope: Scope, c: Any, by_pointer: bool) -> Type:
    if c._kind_id == ast.CONSTRUCTOR:
        return VOID
    t = scope.types.of(c.result_type)
    if by_pointer and is_reference(c.result_type):
        return Pointer(t)
    return t


def _symbol(c: Any, this_type: Type | None) -> str:
    """A Python-safe name: `P_iadd` for `P::operator+=`, `P_new` for a constructor."""
    name = c.spelling
    if lift_lambda.is_lambda(c.semantic_parent) and c._kind_id == ast.CXX_METHOD:
        return f"lambda_{ast.span(c).line}"
    owner = ""
    if c._kind_id in (ast.CXX_METHOD, ast.CONSTRUCTOR, ast.CONVERSION_FUNCTION):
        owner = re.sub(r"<.*", "", str(this_type) if this_type is not None else c.semantic_parent.spelling)
        owner = re.sub(r"\W+", "_", owner).strip("_") + "_"
    if c._kind_id == ast.CONSTRUCTOR:
        return owner + "new"
    if c._kind_id == ast.CONVERSION_FUNCTION:
        return owner + "to_" + re.sub(r"\W+", "_", c.result_type.spelling).strip("_")
    if name.startswith("operator"):
        word = OPERATOR_WORDS.get(name.removeprefix("operator").strip(), "op")
        return owner + word if owner else f"operator_{word}"
    return owner + re.sub(r"<.*", "", name)


def _constructor_body(
    scope: Scope, this: VarRef, parts: list[Any], statements: tuple[Stmt, ...]
) -> tuple[Stmt, ...]:
    """A constructor as a function that makes, fills and returns a struct."""
    t = this.type
    assert isinstance(t, Struct)
    made: list[Stmt] = [Decl(this.var, None, this.var.span)]
    given: dict[str, Expr] = {}
    pending = None
    for x in parts:
        if x._kind_id == ast.MEMBER_REF:
            pending = x
        elif pending is not None and ast.UNEXPOSED_EXPR <= x._kind_id < ast.UNEXPOSED_STMT:
            field = t.field(pending.spelling)
            given[field.name] = lift_init.init(scope, x, field.type)
            pending = None
        elif x._kind_id in (ast.CALL_EXPR, ast.INIT_LIST_EXPR) and pending is None:
            _base_or_delegate(scope, t, x, given)
    for name, cursor in field_initialisers(scope, t).items():
        if name not in given:
            given[name] = lift_init.init(scope, cursor, t.field(name).type)
    for f in t.fields:
        if f.name in given:
            value = as_construct(given[f.name])
            span = value.span
            made.append(ExprStmt(Assign(Member(this, f.name, f.type, span), "", value, f.type, span), span))

    def give(s: Stmt) -> Stmt:
        return Return(this, s.span, s.comments) if isinstance(s, Return) and s.value is None else s

    return (*made, *map_stmts(statements, give), Return(this, this.var.span))


def _base_or_delegate(scope: Scope, t: Struct, c: Any, given: dict[str, Expr]) -> None:
    """`Base(…)` or another constructor of the class in an initialiser list: its fields, one by one."""
    value = as_construct(lift_init.init(scope, c, scope.type_of(c)))
    if not isinstance(value.type, Struct):
        raise LiftError("CP1130", c, name=str(t), what="its base class")
    if not isinstance(value, Construct):
        raise LiftError("CP1130", c, name=str(t), what="its base class, by a constructor with a body")
    for f, part in zip(value.type.fields, value.args, strict=True):
        given[f.name] = part


def _template_args(c: Any) -> tuple[tuple[str, str], ...]:
    count = c.get_num_template_arguments() if c._kind_id == ast.FUNCTION_DECL else 0
    if count <= 0:
        return ()
    pattern = conf.lib.clang_getSpecializedCursorTemplate(c)
    patterns = [x for x in ast.children(pattern) if x._kind_id in _TEMPLATE_PARAMETERS] if pattern else []
    names = [x.spelling for x in patterns]
    made: list[tuple[str, str]] = []
    for k in range(count):
        kind = template_argument_kind(c, k)
        if kind == TemplateArgumentKind.TYPE:
            text = c.get_template_argument_type(k).spelling
        elif kind == TemplateArgumentKind.INTEGRAL:
            text = str(c.get_template_argument_value(k))
            if k < len(patterns) and patterns[k].type.get_canonical().kind == TypeKind.BOOL:
                text = "false" if text == "0" else "true"
        else:
            text = "?"
        made.append((names[k] if k < len(names) else f"arg{k}", text))
    return tuple(made)


_TEMPLATE_PARAMETERS = (
    ast.TEMPLATE_TYPE_PARAMETER,
    ast.TEMPLATE_NON_TYPE_PARAMETER,
    ast.TEMPLATE_TEMPLATE_PARAMETER,
)


def _launch_bounds(scope: Scope, parts: list[Any]) -> tuple[int, int]:
    """(threads, blocks) of `__launch_bounds__`, 0 for what is not given or not known."""
    for x in parts:
        if x._kind_id != ast.UNEXPOSED_ATTR:
            continue
        text = scope.text(x)
        m = re.search(r"launch_bounds(?:__)?\s*\((.*)\)", text, re.DOTALL)
        if m is None and text in scope.lifting.unit.macros:
            m = re.search(r"launch_bounds(?:__)?\s*\((.*)\)", scope.lifting.unit.macros[text], re.DOTALL)
        if m is None:
            continue
        values: list[int] = []
        for part in _split(m.group(1)):
            value = integer_value(part, scope.template_values, scope.lifting.unit)
            if value is None:
                scope.lifting.sink.report("CP1139", ast.span(x), what=f"__launch_bounds__({m.group(1)})")
                return 0, 0
            values.append(value)
        return values[0], values[1] if len(values) > 1 else 0
    return 0, 0


def _split(text: str) -> list[str]:
    """Arguments at the top level of a list."""
    parts, depth = [""], 0
    for ch in text:
        depth += (ch in "(<[") - (ch in ")>]")
        if ch == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += ch
    return [p.strip() for p in parts if p.strip()]
