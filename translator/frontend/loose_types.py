"""Types of parameters that the model has no counterpart for: by their bytes, so that a spec can pass them."""

from __future__ import annotations

from typing import Any

from clang.cindex import CursorKind, conf

from translator.frontend.lift_types import Types, canonical
from translator.frontend.refusal import LiftError
from translator.model.types import U8, U16, U32, Array, Field, Pointer, Scalar, Struct, Type

_WORDS: tuple[Scalar, ...] = (U32, U16, U8)
_UNREADABLE = frozenset({"CP1123", "CP1124", "CP1125"})  # laid out by the author: its size is true


class LooseTypes(Types):
    """As Types, but a union is its first member where that fills it, and a record that can't be laid out is
    an array of words `word`. Records of device libraries stay refused: their size here is no fact."""

    def _record(self, c: Any) -> Type:
        try:
            return super()._record(c)
        except LiftError as error:
            size = c.get_size()
            if error.code not in _UNREADABLE or size < 1:
                raise
            first = self._first(c, size)
            return first if first is not None else _words(c.spelling, size, c.get_align())

    def _first(self, c: Any, size: int) -> Scalar | None:
        if c.get_declaration().kind != CursorKind.UNION_DECL:
            return None
        member = next(iter(c.get_fields()), None)
        if member is None or member.is_bitfield():
            return None
        try:
            t = self.of(member.type)
        except LiftError:
            return None
        return t if isinstance(t, Scalar) and t.size == size else None


def _words(name: str, size: int, align: int) -> Struct:
    word = next(w for w in _WORDS if size % w.size == 0 and align % w.size == 0)
    bare = name.removeprefix("const ").removeprefix("volatile ")
    return Struct(bare, (Field("word", Array(word, size // word.size), 0),), size, align)


def of_parameter(types: Types, t: Any) -> Type:
    """The type of a kernel's parameter; a struct without fields of its size where nothing more is known.

    The pointee of a pointer is then a byte.
    """
    try:
        return types.of_parameter(t)
    except LiftError:
        c = canonical(t)
        pointee = conf.lib.clang_getPointeeType(c)
        if pointee.spelling:
            const, volatile = pointee.is_const_qualified(), pointee.is_volatile_qualified()
            return Pointer(U8, const, volatile, c.is_restrict_qualified())
        return Struct(c.spelling, (), max(1, c.get_size()), max(1, c.get_align()))
