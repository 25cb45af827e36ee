"""Fast access to libclang cursors: kinds as numbers, children, operators, constants, places.

Cursors are plain C structures passed by value, so the bindings' properties, which build Python objects
on the way, are by-passed where it matters.
"""

from __future__ import annotations

from ctypes import (
    CDLL,
    CFUNCTYPE,
    addressof,
    byref,
    c_char_p,
    c_double,
    c_int,
    c_longlong,
    c_uint,
    c_ulonglong,
    c_void_p,
)
from functools import cache
from typing import Any

from clang import cindex
from clang.cindex import CursorKind as K

from translator.diag.diagnostic import Span

NAMESPACE = K.NAMESPACE.value
LINKAGE_SPEC = K.LINKAGE_SPEC.value
FUNCTION_DECL = K.FUNCTION_DECL.value
FUNCTION_TEMPLATE = K.FUNCTION_TEMPLATE.value
CXX_METHOD = K.CXX_METHOD.value
CONSTRUCTOR = K.CONSTRUCTOR.value
DESTRUCTOR = K.DESTRUCTOR.value
CONVERSION_FUNCTION = K.CONVERSION_FUNCTION.value
STRUCT_DECL = K.STRUCT_DECL.value
CLASS_DECL = K.CLASS_DECL.value
UNION_DECL = K.UNION_DECL.value
FIELD_DECL = K.FIELD_DECL.value
CXX_BASE_SPECIFIER = K.CXX_BASE_SPECIFIER.value
VAR_DECL = K.VAR_DECL.value
PARM_DECL = K.PARM_DECL.value
ENUM_DECL = K.ENUM_DECL.value
ENUM_CONSTANT_DECL = K.ENUM_CONSTANT_DECL.value
TEMPLATE_TYPE_PARAMETER = K.TEMPLATE_TYPE_PARAMETER.value
TEMPLATE_NON_TYPE_PARAMETER = K.TEMPLATE_NON_TYPE_PARAMETER.value
TEMPLATE_TEMPLATE_PARAMETER = K.TEMPLATE_TEMPLATE_PARAMETER.value
TRANSLATION_UNIT = K.TRANSLATION_UNIT.value

CUDAGLOBAL_ATTR = K.CUDAGLOBAL_ATTR.value
CUDASHARED_ATTR = K.CUDASHARED_ATTR.value
CUDACONSTANT_ATTR = K.CUDACONSTANT_ATTR.value
CUDADEVICE_ATTR = K.CUDADEVICE_ATTR.value
UNEXPOSED_ATTR = K.UNEXPOSED_ATTR.value
ANNOTATE_ATTR = K.ANNOTATE_ATTR.value
ALIGNED_ATTR = K.ALIGNED_ATTR.value

COMPOUND_STMT = K.COMPOUND_STMT.value
DECL_STMT = K.DECL_STMT.value
IF_STMT = K.IF_STMT.value
FOR_STMT = K.FOR_STMT.value
WHILE_STMT = K.WHILE_STMT.value
DO_STMT = K.DO_STMT.value
SWITCH_STMT = K.SWITCH_STMT.value
CASE_STMT = K.CASE_STMT.value
DEFAULT_STMT = K.DEFAULT_STMT.value
BREAK_STMT = K.BREAK_STMT.value
CONTINUE_STMT = K.CONTINUE_STMT.value
RETURN_STMT = K.RETURN_STMT.value
NULL_STMT = K.NULL_STMT.value
ASM_STMT = K.ASM_STMT.value
UNEXPOSED_STMT = K.UNEXPOSED_STMT.value

UNEXPOSED_EXPR = K.UNEXPOSED_EXPR.value
DECL_REF_EXPR = K.DECL_REF_EXPR.value
MEMBER_REF_EXPR = K.MEMBER_REF_EXPR.value
MEMBER_REF = K.MEMBER_REF.value
UNEXPOSED_DECL = K.UNEXPOSED_DECL.value
TYPE_REF = K.TYPE_REF.value
CALL_EXPR = K.CALL_EXPR.value
INTEGER_LITERAL = K.INTEGER_LITERAL.value
FLOATING_LITERAL = K.FLOATING_LITERAL.value
STRING_LITERAL = K.STRING_LITERAL.value
CHARACTER_LITERAL = K.CHARACTER_LITERAL.value
CXX_BOOL_LITERAL_EXPR = K.CXX_BOOL_LITERAL_EXPR.value
CXX_NULL_PTR_LITERAL_EXPR = K.CXX_NULL_PTR_LITERAL_EXPR.value
PAREN_EXPR = K.PAREN_EXPR.value
UNARY_OPERATOR = K.UNARY_OPERATOR.value
BINARY_OPERATOR = K.BINARY_OPERATOR.value
COMPOUND_ASSIGNMENT_OPERATOR = K.COMPOUND_ASSIGNMENT_OPERATOR.value
CONDITIONAL_OPERATOR = K.CONDITIONAL_OPERATOR.value
ARRAY_SUBSCRIPT_EXPR = K.ARRAY_SUBSCRIPT_EXPR.value
CSTYLE_CAST_EXPR = K.CSTYLE_CAST_EXPR.value
CXX_STATIC_CAST_EXPR = K.CXX_STATIC_CAST_EXPR.value
CXX_REINTERPRET_CAST_EXPR = K.CXX_REINTERPRET_CAST_EXPR.value
CXX_CONST_CAST_EXPR = K.CXX_CONST_CAST_EXPR.value
CXX_FUNCTIONAL_CAST_EXPR = K.CXX_FUNCTIONAL_CAST_EXPR.value
CXX_UNARY_EXPR = K.CXX_UNARY_EXPR.value
CXX_THIS_EXPR = K.CXX_THIS_EXPR.value
GNU_NULL_EXPR = K.GNU_NULL_EXPR.value
COMPOUND_LITERAL_EXPR = K.COMPOUND_LITERAL_EXPR.value
INIT_LIST_EXPR = K.INIT_LIST_EXPR.value
LAMBDA_EXPR = K.LAMBDA_EXPR.value
PACK_EXPANSION_EXPR = K.PACK_EXPANSION_EXPR.value

CASTS = frozenset(
    {
        CSTYLE_CAST_EXPR,
        CXX_STATIC_CAST_EXPR,
        CXX_REINTERPRET_CAST_EXPR,
        CXX_CONST_CAST_EXPR,
        CXX_FUNCTIONAL_CAST_EXPR,
    }
)
# Children that name a type, namespace or template and are no operands.
NAMING = frozenset(
    {K.TYPE_REF.value, K.NAMESPACE_REF.value, K.TEMPLATE_REF.value, K.OVERLOADED_DECL_REF.value}
)

_LISTS = (INIT_LIST_EXPR, STRING_LITERAL)

# clang::BinaryOperatorKind and UnaryOperatorKind as libclang 18 gives them.
BINARY = {
    3: "*", 4: "/", 5: "%", 6: "+", 7: "-", 8: "<<", 9: ">>", 11: "<", 12: ">", 13: "<=", 14: ">=",
    15: "==", 16: "!=", 17: "&", 18: "^", 19: "|", 20: "&&", 21: "||", 22: "=", 23: "*=", 24: "/=",
    25: "%=", 26: "+=", 27: "-=", 28: "<<=", 29: ">>=", 30: "&=", 31: "^=", 32: "|=", 33: ",",
}  # fmt: skip
UNARY = {
    1: "x++", 2: "x--", 3: "++x", 4: "--x", 5: "&", 6: "*", 7: "+", 8: "-", 9: "~", 10: "!",
    11: "__real", 12: "__imag", 13: "__extension__",
}  # fmt: skip

_Visitor = CFUNCTYPE(c_int, cindex.Cursor, cindex.Cursor, c_void_p)
_found: list[Any] = []


def _keep(child: Any, parent: Any, data: Any) -> int:
    _found.append(child)
    return 1  # CXChildVisit_Continue


_keep_callback = _Visitor(_keep)


@cache
def _lib() -> Any:
    lib = cindex.conf.lib
    lib.clang_getCursorBinaryOperatorKind.argtypes = [cindex.Cursor]
    lib.clang_getCursorUnaryOperatorKind.argtypes = [cindex.Cursor]
    lib.clang_Cursor_Evaluate.argtypes = [cindex.Cursor]
    lib.clang_Cursor_Evaluate.restype = c_void_p
    for name, result in (
        ("getKind", c_int),
        ("isUnsignedInt", c_uint),
        ("getAsLongLong", c_longlong),
        ("getAsUnsigned", c_ulonglong),
        ("getAsDouble", c_double),
        ("getAsStr", c_char_p),
        ("dispose", None),
    ):
        f = getattr(lib, f"clang_EvalResult_{name}")
        f.argtypes = [c_void_p]
        f.restype = result
    return lib


@cache
def _own() -> Any:
    """A second handle of the library, so that our declarations don't disturb those of the bindings."""
    lib = CDLL("", handle=cindex.conf.lib._handle)
    lib.clang_visitChildren.argtypes = [cindex.Cursor, _Visitor, c_void_p]
    lib.clang_visitChildren.restype = c_uint
    lib.clang_getExpansionLocation.argtypes = [cindex.SourceLocation, *[c_void_p] * 4]
    lib.clang_getExpansionLocation.restype = None
    lib.clang_getSpellingLocation.argtypes = [cindex.SourceLocation, *[c_void_p] * 4]
    lib.clang_getSpellingLocation.restype = None
    lib.clang_Cursor_getVarDeclInitializer.argtypes = [cindex.Cursor]
    lib.clang_Cursor_getVarDeclInitializer.restype = cindex.Cursor
    lib.clang_Cursor_hasVarDeclGlobalStorage.argtypes = [cindex.Cursor]
    lib.clang_Cursor_hasVarDeclGlobalStorage.restype = c_int
    lib.clang_Cursor_isNull.argtypes = [cindex.Cursor]
    lib.clang_Cursor_isNull.restype = c_int
    return lib


def children(c: Any) -> list[Any]:
    """Direct children of a cursor."""
    global _found
    saved, _found = _found, []
    _own().clang_visitChildren(c, _keep_callback, None)
    made, _found = _found, saved
    tu = c._tu
    for x in made:
        x._tu = tu
    return made


def var_initializer(c: Any) -> Any:
    """The initialiser of a variable's declaration, None if it has none."""
    found = _own().clang_Cursor_getVarDeclInitializer(c)
    if _own().clang_Cursor_isNull(found):
        return None
    found._tu = c._tu
    return found


def as_variable(c: Any) -> Any:
    """The cursor of an instantiated variable template, which libclang has no kind for, as a variable's."""
    made = cindex.Cursor.from_buffer_copy(c)
    made._kind_id = VAR_DECL
    made._tu = c._tu
    return made


def field_initialiser(c: Any) -> Any:
    """The in-class initialiser of a field, None if it has none (an array's size is no initialiser)."""
    name_at = _place(c._tu, c.location)[3]
    inner = [x for x in children(c) if UNEXPOSED_EXPR <= x._kind_id < UNEXPOSED_STMT]
    inner = [x for x in inner if place(x)[1] > name_at]  # those before are arguments of its type
    if not inner or (c.type.get_canonical().get_array_size() >= 0 and inner[-1]._kind_id not in _LISTS):
        return None
    return inner[-1]


def designated(c: Any) -> tuple[str, Any] | None:
    """(field, value) of `.field = value` in a brace list, None for another item."""
    parts = children(c) if c._kind_id == UNEXPOSED_EXPR else []
    if len(parts) == 2 and parts[0]._kind_id == MEMBER_REF:
        return parts[0].spelling, parts[1]
    return None


def has_written_body(c: Any) -> bool:
    """True of a function whose body the source shows; false of one the compiler makes by itself."""
    definition = c.get_definition()
    if definition is None or cindex.conf.lib.clang_CXXMethod_isDefaulted(definition):
        return False
    kinds: set[int] = {x._kind_id for x in children(definition)}
    return COMPOUND_STMT in kinds


def has_global_storage(c: Any) -> bool:
    """True of variables that are not automatic: of file scope, static, or extern."""
    return bool(_own().clang_Cursor_hasVarDeclGlobalStorage(c) == 1)


def operand_children(c: Any) -> list[Any]:
    """Direct children that are operands: no type, namespace or template names."""
    return [x for x in children(c) if x._kind_id not in NAMING]


def children_after(c: Any, marker: str) -> tuple[Any, ...]:
    """Direct children after the struct declaration spelled `marker` (all of them if there is none)."""
    all_children = children(c)
    for k, x in enumerate(all_children):
        if x._kind_id == STRUCT_DECL and x.spelling == marker:
            return tuple(all_children[k + 1 :])
    return tuple(all_children)


def binary_operator(c: Any) -> str:
    """`+`, `<<=`, `,` …; empty if unknown to this table."""
    return BINARY.get(_lib().clang_getCursorBinaryOperatorKind(c), "")


def unary_operator(c: Any) -> str:
    """`-`, `*`, `x++`, `++x` …; empty if unknown to this table."""
    return UNARY.get(_lib().clang_getCursorUnaryOperatorKind(c), "")


def evaluate(c: Any) -> int | float | str | None:
    """The constant value of an expression or of a variable's initialiser, None if it has none."""
    lib = _lib()
    result = lib.clang_Cursor_Evaluate(c)
    if not result:
        return None
    try:
        kind = lib.clang_EvalResult_getKind(result)
        if kind == 1:
            if lib.clang_EvalResult_isUnsignedInt(result):
                return int(lib.clang_EvalResult_getAsUnsigned(result))
            return int(lib.clang_EvalResult_getAsLongLong(result))
        if kind == 2:
            return float(lib.clang_EvalResult_getAsDouble(result))
        if kind in (3, 4, 5, 6):
            raw = lib.clang_EvalResult_getAsStr(result)
            return raw.decode("utf-8", "replace") if raw is not None else None
        return None
    finally:
        lib.clang_EvalResult_dispose(result)


# Out-parameters, made once: most of the time of a lift goes into asking for places.
_FILE, _LINE, _COLUMN, _OFFSET = cindex.c_object_p(), c_uint(), c_uint(), c_uint()
_OUT = tuple(byref(x) for x in (_FILE, _LINE, _COLUMN, _OFFSET))


def _place(tu: Any, location: Any) -> tuple[str, int, int, int]:
    _own().clang_getExpansionLocation(location, *_OUT)
    return _told(tu)


def _told(tu: Any) -> tuple[str, int, int, int]:
    if not _FILE:
        return "", 0, 0, 0
    names = tu.__dict__.setdefault("file_names", {})  # handles are only unique within a unit
    key = addressof(_FILE.contents)
    if key not in names:
        names[key] = str(cindex.File(cindex.cast(_FILE, cindex.c_object_p)).name)
    return names[key], _LINE.value, _COLUMN.value, _OFFSET.value


def place(c: Any) -> tuple[Span, int, int]:
    """(span, start offset, end offset) of a cursor; of code made by a macro, those of its use."""
    known: tuple[Span, int, int] | None = c.__dict__.get("place")
    if known is None:
        lib = cindex.conf.lib
        extent = lib.clang_getCursorExtent(c)
        path, line, column, start = _place(c._tu, lib.clang_getRangeStart(extent))
        _, end_line, end_column, end = _place(c._tu, lib.clang_getRangeEnd(extent))
        known = c.__dict__["place"] = (Span(path, line, column, end_line, end_column), start, end)
    return known


def written_at(c: Any) -> tuple[str, int]:
    """(path, offset) where a cursor begins; in a macro's argument there, not where that macro is used."""
    start = cindex.conf.lib.clang_getRangeStart(cindex.conf.lib.clang_getCursorExtent(c))
    _own().clang_getSpellingLocation(start, *_OUT)
    path, _, _, offset = _told(c._tu)
    return path, offset


def span(c: Any) -> Span:
    """Where a cursor is; of code made by a macro, where the macro is used."""
    return place(c)[0]


def offsets(c: Any) -> tuple[str, int, int]:
    """(path, start, end) of a cursor in bytes."""
    at, start, end = place(c)
    return at.path, start, end
