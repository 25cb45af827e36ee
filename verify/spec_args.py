"""The arguments of a kernel as `spec.toml` describes them: scalars, buffers, structs passed by value."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from verify.dtypes import lookup
from verify.expr import names_of

Expr = int | float | str
Role = Literal["in", "out", "inout", "scratch"]
_FILLING = frozenset({"init", "low", "high", "values"})
_INITS = ("normal", "uniform", "small_int", "zeros", "ones", "arange", "permutation")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def readable(text: Expr) -> Expr:
    names_of(text)
    return text


class Arg(Strict):
    """`port_name` is the port's parameter where it is not called like the original's."""

    name: str
    """The parameter's name; expressions may use a scalar's."""
    port_name: str | None = None
    """The port's parameter where it is not called like the original's."""


class ScalarArg(Arg):
    kind: Literal["scalar"]
    """A number."""
    dtype: str
    """`f32`, `float32`, `i32`, `bool` and so on."""
    value: bool | Expr
    """An expression over the sizes of a case and earlier scalars."""

    @field_validator("dtype")
    @classmethod
    def _known(cls, v: str) -> str:
        return lookup(v).name

    @field_validator("value")
    @classmethod
    def _read(cls, v: bool | Expr) -> bool | Expr:
        return readable(v)


class Filled(Strict):
    """How memory starts. `init` is one of normal, uniform, small_int, zeros, ones, arange, permutation or
    `index:<expr>` (integers in [low, expr), low being 0 if left out). `values` in its place lists the first
    elements; the rest are zero, as in C++."""

    init: str = "normal"
    """How it is filled: normal, uniform, small_int, zeros, ones, arange, permutation (from low, or 0, on), or
    `index:<expr>` for integers in [low, expr). Free floats (normal, no bounds) meet other values too: NaN,
    infinities, ties."""
    low: float | None = None
    """Least value."""
    high: float | None = None
    """Largest value."""
    values: list[int | float] | None = None
    """The first elements, in place of init, low and high; the rest are zero, as in C++."""

    @field_validator("init")
    @classmethod
    def _init(cls, v: str) -> str:
        check_init(v)
        return v

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.values is not None and self.model_fields_set & {"init", "low", "high"}:
            raise ValueError("values stand in place of init, low and high")
        return self


class ElementField(Filled):
    """One member of a buffer's struct elements, `offset` bytes from the element's start."""

    name: str
    """The member's name."""
    dtype: str
    """Its type."""
    offset: int = Field(ge=0)
    """Bytes from the element's start."""

    @field_validator("dtype")
    @classmethod
    def _known(cls, v: str) -> str:
        return lookup(v).name


class Memory(Filled):
    """Device memory of `elems` elements of `dtype`, or of structs of `size` bytes with `fields`."""

    dtype: str | None = None
    """Type of its elements."""
    elems: Expr
    """How many elements; an expression."""
    role: Role
    """`in` is read-only and checked for it, `out` is poisoned before each run, `inout` is both. `scratch` is
    for the kernel's own use: a counter, a lock, partial sums. It is filled where `init` or `values` say how,
    else poisoned, and not compared; only what the original leaves as it was, the port must too."""
    size: int | None = Field(default=None, gt=0)
    """Bytes of an element, where elements are structs; then there are fields and no dtype."""
    fields: list[ElementField] = []
    """Members of such a struct."""
    align: int | None = Field(default=None, ge=1, le=4096)
    """Its address is a multiple of so many bytes, a power of two. Left out: as its elements need it, and one
    case tries an address that is no more than that, unless the original fails there."""
    means: Literal["fill", "copy"] | None = None
    """That so plain an answer is meant: `fill` where the kernel writes one value everywhere, `copy` where it
    copies an input. Otherwise an output that zeros, a constant or a copy would get right proves nothing
    (CP7017)."""
    order: Literal["fixed", "free"] = "fixed"
    """`free`: its elements may stand in any order, as where atomics hand out the places. They are compared as
    a multiset: each as often as in the original, by the usual rule of their type; NaN equals NaN."""
    group: str | None = None
    """Outputs of free order with the same group move together: element i of each is one tuple."""
    count: Expr | None = None
    """How many elements of free order count, from the first on; an expression that may also name an integer
    output, for its first element (with `within`, for that of the row). The others are compared in place. Left
    out: all that were written."""
    within: Expr | None = None
    """Length of the rows within which the order is free: a list per row, say. Left out: the whole buffer."""

    @field_validator("dtype")
    @classmethod
    def _known(cls, v: str | None) -> str | None:
        return None if v is None else lookup(v).name

    @field_validator("elems", "count", "within")
    @classmethod
    def _read(cls, v: Expr | None) -> Expr | None:
        return None if v is None else readable(v)

    @property
    def compared(self) -> bool:
        """True for outputs: what it holds afterwards is compared with the original's."""
        return self.role in ("out", "inout")

    @property
    def poisoned(self) -> bool:
        """True where a run finds nothing of meaning in it."""
        filled = any(f.model_fields_set & _FILLING for f in (self, *self.fields))
        return self.role == "out" or (self.role == "scratch" and not filled)

    @model_validator(mode="after")
    def _meant(self) -> Self:
        if self.means is not None and not self.compared:
            raise ValueError(f"means is for outputs; this has the role {self.role}")
        return self

    @model_validator(mode="after")
    def _orders(self) -> Self:
        if self.order == "free" and not self.compared:
            raise ValueError(f'order = "free" is for outputs; this has the role {self.role}')
        for name in ("group", "count", "within"):
            if self.order != "free" and getattr(self, name) is not None:
                raise ValueError(f'{name} belongs to outputs with order = "free"')
        return self

    @model_validator(mode="after")
    def _one_layout(self) -> Self:
        if (self.dtype is None) == (self.size is None):
            raise ValueError("a buffer has either a dtype, or a size and fields")
        if self.size is not None and not self.fields:
            raise ValueError("a buffer of structs lists its fields")
        if self.dtype is not None and self.fields:
            raise ValueError("fields belong to a buffer of structs (size), not to one with a dtype")
        if self.align is not None and self.align & (self.align - 1):
            raise ValueError(f"align is {self.align}, no power of two")
        for f in self.fields:
            if self.size is not None and f.offset + lookup(f.dtype).size > self.size:
                raise ValueError(f"field '{f.name}' reaches past the element's {self.size} bytes")
        return self

    @property
    def element_bytes(self) -> int:
        return self.size if self.size is not None else lookup(self.dtype or "").size

    @property
    def least_align(self) -> int:
        """Bytes that its address must be a multiple of."""
        own = [lookup(f.dtype).size for f in self.fields] or [self.element_bytes]
        return self.align or max(own)


class BufferArg(Memory, Arg):
    """Memory whose address is a parameter; or a `__device__` or `__constant__` global of the original, which
    `symbol` names."""

    kind: Literal["buffer"]
    """Memory whose address is passed."""
    symbol: str | None = None
    """Name of the `__device__` or `__constant__` global of the original that this memory is; it is no
    parameter there."""


class StructField(Strict):
    """A scalar inside a by-value struct, `offset` bytes from its start."""

    name: str
    """The member's name."""
    dtype: str
    """Its type."""
    offset: int = Field(ge=0)
    """Bytes from the struct's start."""
    value: bool | Expr = 0
    """An expression, as of a scalar."""

    @field_validator("dtype")
    @classmethod
    def _known(cls, v: str) -> str:
        return lookup(v).name

    @field_validator("value")
    @classmethod
    def _read(cls, v: bool | Expr) -> bool | Expr:
        return readable(v)

    @property
    def room(self) -> int:
        """Bytes it takes in the struct."""
        return lookup(self.dtype).size


class PointerField(Strict):
    """A pointer inside a by-value struct: `offset` bytes from its start lies the address of `buffer`."""

    name: str
    """The member's name."""
    offset: int = Field(ge=0)
    """Bytes from the struct's start."""
    buffer: Memory
    """The memory it points to."""

    @property
    def room(self) -> int:
        return 8


def _field_kind(field: Any) -> str:
    held = field if isinstance(field, dict) else vars(field)
    return "buffer" if "buffer" in held else "scalar"


AnyField = Annotated[
    Annotated[StructField, Tag("scalar")] | Annotated[PointerField, Tag("buffer")], Discriminator(_field_kind)
]


class StructArg(Arg):
    """One by-value struct of `size` bytes; the port takes `<name>_<field>` for each field.

    The buffer of a pointer field is called `<name>.<field>` in verdicts and by reference.py.
    """

    kind: Literal["struct"]
    """A struct passed by value."""
    size: int = Field(gt=0)
    """Its bytes."""
    fields: list[AnyField]
    """Its members; the port takes `<name>_<field>` for each."""

    @property
    def scalars(self) -> list[StructField]:
        return [f for f in self.fields if isinstance(f, StructField)]

    @property
    def buffers(self) -> list[BufferArg]:
        """What the pointer fields point to."""
        return [
            BufferArg.model_construct(
                f.buffer.model_fields_set,
                kind="buffer", name=f"{self.name}.{f.name}", port_name=None, symbol=None, **dict(f.buffer),
            )
            for f in self.fields
            if isinstance(f, PointerField)
        ]  # fmt: skip

    @model_validator(mode="after")
    def _inside(self) -> Self:
        names = [f.name for f in self.fields]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"field named twice: {', '.join(twice)}")
        for f in self.fields:
            if f.offset + f.room > self.size:
                raise ValueError(f"field '{f.name}' reaches past the struct's {self.size} bytes")
        return self


AnyArg = Annotated[ScalarArg | BufferArg | StructArg, Field(discriminator="kind")]


def check_init(init: str) -> None:
    """ValueError where `init` is none of the known ways to fill a buffer."""
    if init.startswith("index:"):
        names_of(init.removeprefix("index:"))
    elif init not in _INITS:
        raise ValueError(f"unknown init '{init}'; known: {', '.join(_INITS)}, index:<expr>")
