"""Statements. Bodies are tuples of statements; a declaration is visible to the end of its tuple."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from translator.diag.diagnostic import NOWHERE, Span
from translator.model.expr import Expr, Var


@dataclass(frozen=True, slots=True)
class Decl:
    """A local, shared or reference variable. `init`: InitList for aggregates, an lvalue for references."""

    var: Var
    init: Expr | None = None
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()  # the author's comment lines before it, without markers


@dataclass(frozen=True, slots=True)
class ExprStmt:
    expr: Expr
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    cond: Expr
    then: tuple[Stmt, ...]
    other: tuple[Stmt, ...] = ()
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """C's `for`; a missing condition is None (true). `unroll`: None unstated, 0 full, N by N, 1 none.

    After passes.linear `step` is None and `advance` holds its statements; `continue` goes there.
    """

    init: tuple[Stmt, ...]
    cond: Expr | None
    step: Expr | None
    body: tuple[Stmt, ...]
    unroll: int | None = None
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()
    advance: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class While:
    cond: Expr
    body: tuple[Stmt, ...]
    unroll: int | None = None
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DoWhile:
    """`advance` (after passes.linear) runs before the condition; `continue` goes there."""

    body: tuple[Stmt, ...]
    cond: Expr
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()
    advance: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One group of labels and the statements up to the next label; may fall through."""

    values: tuple[int, ...]
    default: bool
    body: tuple[Stmt, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Switch:
    value: Expr
    cases: tuple[Case, ...]
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A `{ … }` of its own."""

    body: tuple[Stmt, ...]
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Break:
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Continue:
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr | None = None
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


# The statements below appear only after passes.lower.


@dataclass(frozen=True, slots=True)
class ForRange:
    """A counted loop from `start` towards `stop` (exclusive) by `step`; its body changes none of them."""

    var: Var
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    unroll: int | None = None
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unpack:
    """Parallel assignment of the components of a Tuple, VectorLoad or multi-result Call."""

    targets: tuple[Expr, ...]
    value: Expr
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorStore:
    """Stores scalars to consecutive elements; `align` in bytes is what the CUDA type guarantees."""

    pointer: Expr
    values: tuple[Expr, ...]
    align: int
    span: Span = NOWHERE
    comments: tuple[str, ...] = ()


Stmt: TypeAlias = (
    "Decl | ExprStmt | If | For | While | DoWhile | Switch | Block | Break | Continue | Return"
    " | ForRange | Unpack | VectorStore"
)
