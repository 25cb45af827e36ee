"""Clang types → types of the model. Results are cached per unit; records are laid out as the ABI does."""

from __future__ import annotations

import re
from typing import Any

from clang.cindex import CursorKind, TypeKind, conf

from translator.frontend import ast
from translator.frontend.refusal import BY_TYPE, LiftError
from translator.model.types import (
    BF16,
    BOOL,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    VOID,
    Array,
    Field,
    Pointer,
    Scalar,
    Struct,
    Type,
)

GROUPS = "cooperative_groups::"
_TILE = re.compile(r"cooperative_groups::thread_block_tile<(\d+)")
GROUP_OPERATIONS = ("plus", "less", "greater", "bit_and", "bit_or", "bit_xor")


def group_type(name: str) -> Struct | None:
    """The model's type, without fields, of a cooperative group that is known by its type alone: a block,
    the grid, a tile of up to 32 threads, or an operation on one. None for groups that need state."""
    tile = _TILE.match(name)
    if tile:
        size = int(tile.group(1))
        return Struct(f"{GROUPS}thread_block_tile<{size}>", (), 1, 1) if size <= 32 else None
    bare = name.removeprefix(GROUPS)
    known = bare in ("thread_block", "grid_group", "thread_group") or bare.split("<")[0] in GROUP_OPERATIONS
    return Struct(name, (), 1, 1) if known else None


SCALAR_KINDS: dict[int, Scalar] = {
    TypeKind.VOID.value: VOID,
    TypeKind.BOOL.value: BOOL,
    TypeKind.CHAR_S.value: I8,
    TypeKind.SCHAR.value: I8,
    TypeKind.CHAR_U.value: U8,
    TypeKind.UCHAR.value: U8,
    TypeKind.SHORT.value: I16,
    TypeKind.USHORT.value: U16,
    TypeKind.INT.value: I32,
    TypeKind.UINT.value: U32,
    TypeKind.LONG.value: I64,
    TypeKind.ULONG.value: U64,
    TypeKind.LONGLONG.value: I64,
    TypeKind.ULONGLONG.value: U64,
    TypeKind.CHAR16.value: U16,
    TypeKind.CHAR32.value: U32,
    TypeKind.WCHAR.value: I32,
    TypeKind.FLOAT.value: F32,
    TypeKind.DOUBLE.value: F64,
    TypeKind.HALF.value: F16,
    32: F16,  # _Float16, unnamed in the bindings
}

# Records of the stub headers that are scalars of the model.
SCALAR_RECORDS = {
    "__half": F16,
    "__nv_bfloat16": BF16,
    "__nv_fp8_e4m3": F8E4M3,
    "__nv_fp8_e5m2": F8E5M2,
}

_POINTER = TypeKind.POINTER.value
_REFERENCES = (TypeKind.LVALUEREFERENCE.value, TypeKind.RVALUEREFERENCE.value)
_CONSTANT_ARRAY = TypeKind.CONSTANTARRAY.value
_INCOMPLETE_ARRAY = TypeKind.INCOMPLETEARRAY.value
_RECORD = TypeKind.RECORD.value
_ENUM = TypeKind.ENUM.value
_NULLPTR = TypeKind.NULLPTR.value
_FUNCTIONS = (TypeKind.FUNCTIONPROTO.value, TypeKind.FUNCTIONNOPROTO.value)


def canonical(t: Any) -> Any:
    """The type behind typedefs, `auto` and template sugar."""
    return conf.lib.clang_getCanonicalType(t)


def is_reference(t: Any) -> bool:
    return canonical(t)._kind_id in _REFERENCES


def is_lvalue_reference(t: Any) -> bool:
    return bool(canonical(t)._kind_id == _REFERENCES[0])


def is_array(t: Any) -> bool:
    return canonical(t)._kind_id in (_CONSTANT_ARRAY, _INCOMPLETE_ARRAY)


def is_const(t: Any) -> bool:
    """True of a const type, and of an array of const elements."""
    return bool(t.is_const_qualified() or canonical(t).is_const_qualified())


def strip_reference(t: Any) -> Any:
    c = canonical(t)
    return conf.lib.clang_getPointeeType(c) if c._kind_id in _REFERENCES else t


def is_function_pointer(t: Any) -> bool:
    c = canonical(t)
    return c._kind_id == _POINTER and canonical(conf.lib.clang_getPointeeType(c))._kind_id in _FUNCTIONS


def members(declaration: Any) -> list[Any]:
    """What is declared in a class; of an instantiated one, what its template declares."""
    pattern = conf.lib.clang_getSpecializedCursorTemplate(declaration)
    return ast.children(pattern if pattern is not None else declaration)


class Types:
    """Types of one unit. `records` are the record declarations met, to be checked for errors."""

    def __init__(self) -> None:
        self._made: dict[int, Type] = {}
        self._open: set[int] = set()  # records being laid out, for structs that point to themselves
        self.records: dict[int, Any] = {}
        self.declarations: dict[Struct, Any] = {}

    def of(self, t: Any) -> Type:
        """The model's type of a clang type (of what it refers to, for a reference). Raises LiftError."""
        key = t.data[0]
        if key not in self._made:
            made = self._make(canonical(t))
            if self._open:
                return made  # may hold a stand-in for an open record: not to be kept
            self._made[key] = made
        return self._made[key]

    def of_parameter(self, t: Any) -> Type:
        """As `of`; an array that is not passed by reference is a pointer."""
        c = canonical(t)
        if c._kind_id not in (_CONSTANT_ARRAY, _INCOMPLETE_ARRAY):
            return self.of(t)
        element = c.element_type
        return Pointer(self.of(element), is_const(c), element.is_volatile_qualified())

    def _make(self, c: Any) -> Type:
        kind = c._kind_id
        if kind in SCALAR_KINDS:
            return SCALAR_KINDS[kind]
        if kind == _POINTER:
            return self._pointer(c)
        if kind in _REFERENCES:
            return self.of(conf.lib.clang_getPointeeType(c))
        if kind == _CONSTANT_ARRAY:
            if c.element_count == 0:  # an extension of C++; the DSL has no such array
                raise LiftError("CP1127", what="an array without elements")
            return Array(self.of(c.element_type), c.element_count)
        if kind == _INCOMPLETE_ARRAY:
            return Array(self.of(c.element_type), None)
        if kind == _RECORD:
            return self._record(c)
        if kind == _ENUM:
            return self.of(c.get_declaration().enum_type)
        if kind == _NULLPTR:
            return Pointer(VOID)
        if kind in _FUNCTIONS:
            raise LiftError("CP1115", what=f"a value of function type {c.spelling}")
        raise LiftError("CP1125", type=c.spelling or "(none)")

    def _pointer(self, c: Any) -> Type:
        to = conf.lib.clang_getPointeeType(c)
        bare = canonical(to)
        if bare._kind_id in _FUNCTIONS:
            raise LiftError("CP1115", what=f"a pointer of type {c.spelling}")
        if bare._kind_id == _RECORD:
            declaration = bare.get_declaration()
            if declaration.data[0] in self._open or not declaration.is_definition():
                pointee: Type = VOID if declaration.data[0] in self._open else self._opaque(bare)
                return Pointer(pointee, is_const(to), to.is_volatile_qualified())
        return Pointer(self.of(to), is_const(to), to.is_volatile_qualified(), c.is_restrict_qualified())

    def _opaque(self, c: Any) -> Type:
        definition = c.get_declaration().get_definition()
        if definition is not None:
            return self._record(c)
        self._refuse_by_name(c.spelling)
        return VOID

    @staticmethod
    def _refuse_by_name(name: str) -> None:
        bare = name.removeprefix("const ").removeprefix("volatile ")
        for start, code in BY_TYPE:
            if bare.startswith(start):
                raise LiftError(code, name=bare)

    def _record(self, c: Any) -> Type:
        declaration = c.get_declaration()
        name = c.spelling.removeprefix("const ").removeprefix("volatile ").removeprefix("const ")
        if name in SCALAR_RECORDS:
            return SCALAR_RECORDS[name]
        if name.startswith(GROUPS) and (group := group_type(name)) is not None:
            return group
        self._refuse_by_name(name)
        if "(lambda at" in name:
            return Struct(_readable(name), (), 1, 1)  # what a closure captures is passed to its calls
        size = c.get_size()
        if size < 0:
            raise LiftError("CP1125", type=name)
        if declaration.kind == CursorKind.UNION_DECL:
            raise LiftError("CP1123", name=_readable(name))
        key = declaration.data[0]
        self._open.add(key)
        try:
            fields = self._fields(c, declaration, name)
        finally:
            self._open.discard(key)
        self.records[key] = declaration
        made = Struct(_readable(name), fields, size, c.get_align())
        self.declarations[made] = declaration
        return made

    def _fields(self, c: Any, declaration: Any, name: str) -> tuple[Field, ...]:
        fields: list[Field] = []
        end = 0  # of the bases laid out so far
        for part in members(declaration):
            kind = part._kind_id
            if kind == ast.CXX_BASE_SPECIFIER:
                base = self.of(part.type)
                if not isinstance(base, Struct):
                    raise LiftError("CP1125", type=f"{_readable(name)} (its base)")
                if base.fields:
                    start = -(-end // base.align) * base.align
                    fields += [Field(f.name, f.type, start + f.offset) for f in base.fields]
                    end = start + base.size
            elif kind == ast.UNION_DECL and conf.lib.clang_Cursor_isAnonymous(part):
                raise LiftError("CP1123", name=_readable(name))
            elif kind in (ast.CXX_METHOD, ast.DESTRUCTOR) and conf.lib.clang_CXXMethod_isVirtual(part):
                raise LiftError("CP1114", what=f"virtual functions of {_readable(name)}")
        fields += [self._field(part, name) for part in c.get_fields()]
        if len({f.name for f in fields}) != len(fields):
            raise LiftError("CP1125", type=f"{_readable(name)} (a base has a field of the same name)")
        return tuple(fields)

    def _field(self, part: Any, name: str) -> Field:
        if part.is_bitfield():
            raise LiftError("CP1124", name=f"{_readable(name)}::{part.spelling}")
        offset = part.get_field_offsetof()
        if not part.spelling or offset < 0:
            raise LiftError("CP1125", type=f"{name} (unnamed member)")
        if is_reference(part.type):
            raise LiftError("CP1125", type=f"{name} (reference member {part.spelling})")
        return Field(part.spelling, self.of(part.type), offset // 8)


def _readable(name: str) -> str:
    """A record's name without the place that clang puts into names of unnamed ones."""
    return re.sub(r"\((lambda|unnamed \w+|anonymous \w+)?[^()]* at [^()]*?:(\d+):\d+\)", r"unnamed_\2", name)
