"""Expressions. Every implicit C++ conversion is an explicit Cast; operands of an arithmetic node
already have the type the operation is done in.

Lvalues are VarRef, Index, Deref and Member; reading one is implicit (there is no load node).
An array used as a value is always wrapped in Decay. `&a[i]` is AddrOf(Index(...)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Lit
from typing import TypeAlias

from translator.diag.diagnostic import NOWHERE, Span
from translator.model.types import Struct, Type

Storage = Lit["local", "param", "shared", "dynamic_shared", "constant", "device"]


@dataclass(frozen=True, slots=True)
class Var:
    """A declared name. Identity is `uid`; two variables may share a `name`.

    `type` is the declared type without reference; `ref` says it was declared `T&`.
    """

    uid: int
    name: str
    type: Type
    storage: Storage = "local"
    ref: bool = False
    const: bool = False
    align: int = 0  # declared alignment in bytes, 0 for the type's own
    span: Span = NOWHERE

    def __hash__(self) -> int:
        return self.uid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Var) and other.uid == self.uid


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `value` is exact (Python int, float or bool). Pointers: only nullptr, value 0.

    `name` is the macro constant, enumerator or template parameter it was spelled as, if any.
    """

    value: int | float | bool
    type: Type
    span: Span = NOWHERE
    name: str = ""


@dataclass(frozen=True, slots=True)
class String:
    """A string literal; only as the format of printf or the text of assert."""

    value: str
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class VarRef:
    var: Var
    span: Span = NOWHERE

    @property
    def type(self) -> Type:
        return self.var.type


@dataclass(frozen=True, slots=True)
class Special:
    """`threadIdx.x` and friends; `base` is the CUDA name, type u32."""

    base: Lit["threadIdx", "blockIdx", "blockDim", "gridDim"]
    axis: Lit["x", "y", "z"]
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Unary:
    """op: `-` `~` `!` (`!` has a bool operand and result; unary plus is dropped)."""

    op: str
    operand: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Binary:
    """op: `+ - * / % << >> & | ^ < > <= >= == !=`.

    Arithmetic: both operands and the result have one type (a shift's right operand may differ).
    Comparison: operands share a type (both may be pointers), result bool.
    """

    op: str
    left: Expr
    right: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Logical:
    """Short-circuit `&&` or `||` of two bools."""

    op: Lit["&&", "||"]
    left: Expr
    right: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Conditional:
    cond: Expr
    then: Expr
    other: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Cast:
    """A value conversion between scalars, a pointer reinterpretation, or pointer ↔ integer."""

    operand: Expr
    type: Type
    span: Span = NOWHERE
    explicit: bool = False  # written by the author


@dataclass(frozen=True, slots=True)
class Bitcast:
    """The bits of a value seen as another scalar or struct of the same size, by value."""

    operand: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Index:
    """`base[index]`: base is pointer-typed (Decay for arrays); index keeps its own integer type."""

    base: Expr
    index: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Deref:
    pointer: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Member:
    """`object.name`; `p->x` is Member(Deref(p), "x"). The object may be an lvalue or a struct value."""

    object: Expr
    name: str
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class AddrOf:
    lvalue: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Decay:
    """Array lvalue → pointer to its first element."""

    array: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class PtrAdd:
    """`pointer + offset` in elements (`p - k` has a negated offset); offset keeps its integer type."""

    pointer: Expr
    offset: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class PtrDiff:
    """`left - right` in elements, type i64."""

    left: Expr
    right: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Assign:
    """`target op= value` as an expression whose value is the new target. op is "" for plain `=`.

    Compound on scalars: done as `target = (T)((compute)target op value)`; value has type `compute`
    (for shifts the promoted right type). Pointers: op `+` or `-`, value an integer element count.
    """

    target: Expr
    op: str
    value: Expr
    type: Type
    span: Span = NOWHERE
    compute: Type | None = None


@dataclass(frozen=True, slots=True)
class IncDec:
    """`++x`, `x--` …; op is "+" or "-"; the value is the new target if prefix, else the old one."""

    target: Expr
    op: Lit["+", "-"]
    prefix: bool
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Comma:
    left: Expr
    right: Expr
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Construct:
    """A struct value from one value per field (aggregate init, `make_float4`, memberwise constructors)."""

    type: Struct
    args: tuple[Expr, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class InitList:
    """Initialiser of an array or struct variable, one entry per element; missing ones are zero."""

    items: tuple[Expr, ...]
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a device function of this model by its `symbol`.

    A by-value argument is a value; for a reference parameter the argument is the lvalue itself.
    Methods take their object as the first argument (`this` by reference).
    """

    symbol: str
    args: tuple[Expr, ...]
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A CUDA builtin, math or library function by its C name, resolved by the mapping tables.

    Arguments are converted to the declared parameter types; overloads are told apart by argument types.
    `arg_types` (after passes.linear, else empty) keeps the C types that lowering removed.
    """

    name: str
    args: tuple[Expr, ...]
    type: Type
    span: Span = NOWHERE
    arg_types: tuple[Type, ...] = ()


# The expressions below appear only after passes.lower.


@dataclass(frozen=True, slots=True)
class Element:
    """A scalar of an array variable, one index per dimension."""

    var: Var
    indices: tuple[Expr, ...]
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Tuple:
    """Several scalars: a struct by value."""

    items: tuple[Expr, ...]
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class VectorLoad:
    """`count` consecutive scalars from `pointer`; `align` in bytes is what the CUDA type guarantees."""

    pointer: Expr
    count: int
    align: int
    type: Type
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Stands where something could not be lifted; its diagnostic is in the Sink and refuses the kernel."""

    what: str
    type: Type
    span: Span = NOWHERE


Expr: TypeAlias = (
    "Literal | String | VarRef | Special | Unary | Binary | Logical | Conditional | Cast | Bitcast | Index"
    " | Deref | Member | AddrOf | Decay | PtrAdd | PtrDiff | Assign | IncDec | Comma | Construct | InitList"
    " | Call | Intrinsic | Unsupported | Element | Tuple | VectorLoad"
)
LVALUES = (VarRef, Index, Deref, Member)
