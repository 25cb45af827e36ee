"""Types of the kernel model. Sizes and alignments are in bytes and follow the CUDA ABI (LP64)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Scalar:
    """An arithmetic type; `name` is its key in every table (`i32`, `u8`, `f16` …)."""

    name: str
    bits: int
    signed: bool
    is_float: bool = False

    @property
    def size(self) -> int:
        return max(1, self.bits // 8)

    @property
    def align(self) -> int:
        return self.size

    @property
    def is_integer(self) -> bool:
        """Integers including bool."""
        return not self.is_float and self.bits > 0

    def __str__(self) -> str:
        return self.name


VOID = Scalar("void", 0, False)
BOOL = Scalar("bool", 1, False)
I8, I16, I32, I64 = (Scalar(f"i{b}", b, True) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (Scalar(f"u{b}", b, False) for b in (8, 16, 32, 64))
F16, F32, F64 = (Scalar(f"f{b}", b, True, True) for b in (16, 32, 64))
BF16 = Scalar("bf16", 16, True, True)
F8E4M3 = Scalar("f8e4m3", 8, True, True)
F8E5M2 = Scalar("f8e5m2", 8, True, True)
SCALARS = {
    t.name: t for t in (VOID, BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, F8E4M3, F8E5M2)
}


@dataclass(frozen=True, slots=True)
class Pointer:
    """`T*`. Qualifiers are those of the pointee (const, volatile) and of the pointer (restrict)."""

    to: Type
    const: bool = False
    volatile: bool = False
    restrict: bool = False

    size = 8
    align = 8

    def __str__(self) -> str:
        words = [w for w, on in (("const", self.const), ("volatile", self.volatile)) if on]
        return " ".join([*words, str(self.to)]) + ("*restrict" if self.restrict else "*")


@dataclass(frozen=True, slots=True)
class Array:
    """`T[count]`; count is None for `extern __shared__ T name[]`."""

    of: Type
    count: int | None

    @property
    def size(self) -> int:
        return self.of.size * (self.count or 0)

    @property
    def align(self) -> int:
        return self.of.align

    def __str__(self) -> str:
        return f"{self.of}[{'' if self.count is None else self.count}]"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type
    offset: int  # bytes from the start of the struct


@dataclass(frozen=True, slots=True)
class Struct:
    """A class, struct or CUDA vector type (`float4`, `__half2`); base-class fields come first, flattened."""

    name: str
    fields: tuple[Field, ...]
    size: int
    align: int

    def field(self, name: str) -> Field:
        return next(f for f in self.fields if f.name == name)

    def __str__(self) -> str:
        return self.name


Type: TypeAlias = "Scalar | Pointer | Array | Struct"


def dimensions(t: Array) -> tuple[list[int], Type]:
    """The sizes of an array, outermost first (0 for one without a count), and what its elements are."""
    sizes: list[int] = []
    inner: Type = t
    while isinstance(inner, Array):
        sizes.append(inner.count or 0)
        inner = inner.of
    return sizes, inner


def same(a: Type, b: Type) -> bool:
    """Equal but for const and restrict of pointers; a volatile access is another access."""
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.volatile == b.volatile and same(a.to, b.to)
    if isinstance(a, Array) and isinstance(b, Array):
        return a.count == b.count and same(a.of, b.of)
    return a == b


def leaf_scalars(t: Type) -> list[tuple[int, Scalar | Pointer]] | None:
    """(byte offset, scalar or pointer) of each leaf of `t` in order; None for an array without a count."""
    if isinstance(t, Scalar | Pointer):
        return [(0, t)]
    if isinstance(t, Array):
        if t.count is None:
            return None
        inner = leaf_scalars(t.of)
        return None if inner is None else [(k * t.of.size + o, s) for k in range(t.count) for o, s in inner]
    found: list[tuple[int, Scalar | Pointer]] = []
    for f in t.fields:
        inner = leaf_scalars(f.type)
        if inner is None:
            return None
        found += [(f.offset + o, s) for o, s in inner]
    return found


def uniform_scalar(t: Type) -> Scalar | None:
    """The one scalar type that `t` is a gapless sequence of (`float4` → f32), or None."""
    leaves = leaf_scalars(t)
    if not leaves or not isinstance(leaves[0][1], Scalar):
        return None
    first = leaves[0][1]
    tight = all(s == first and o == k * first.size for k, (o, s) in enumerate(leaves))
    return first if tight and t.size == len(leaves) * first.size else None
