"""State of a lift: what one kernel shares (Lifting) and what one function's body knows (Scope)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from translator.diag.diagnostic import NOWHERE, Sink, Span
from translator.frontend import ast
from translator.frontend.clang import Unit
from translator.frontend.comments import Comments
from translator.frontend.lift_types import Types, is_array, is_const, is_lvalue_reference, strip_reference
from translator.frontend.refusal import LiftError
from translator.model.expr import Expr, Storage, Var, VarRef
from translator.model.kernel import Function, Global
from translator.model.types import Pointer, Type


@dataclass(frozen=True, slots=True)
class Callee:
    """A lifted device function and how to call it.

    `by_pointer` says that it returns a reference and this variant gives its address.
    `dropped` are the positions of parameters of empty struct types, which are not passed.
    """

    function: Function
    by_pointer: bool = False
    dropped: frozenset[int] = frozenset()
    has_this: bool = False
    captures: tuple[Any, ...] = ()  # declarations of captured variables, passed after `this`


@dataclass
class Lifting:
    """What the functions of one kernel share."""

    unit: Unit
    sink: Sink
    types: Types
    lift_function: Callable[..., Callee]
    functions: dict[object, Callee] = field(default_factory=dict)  # insertion order: callees first
    open_functions: list[object] = field(default_factory=list)
    symbols: set[str] = field(default_factory=set)
    globals: dict[int, Global] = field(default_factory=dict)
    global_vars: dict[int, Var] = field(default_factory=dict)
    checked: dict[int, tuple[str, Any]] = field(default_factory=dict)  # declarations to look for errors in
    comments: dict[str, Comments] = field(default_factory=dict)
    uid: int = 0

    def new_var(
        self,
        name: str,
        kind: Type,
        storage: Storage = "local",
        *,
        ref: bool = False,
        const: bool = False,
        align: int = 0,
        span: Span = NOWHERE,
    ) -> Var:
        self.uid += 1
        return Var(self.uid, name, kind, storage, ref, const, align, span)

    def comments_of(self, path: str) -> Comments:
        if path not in self.comments:
            self.comments[path] = Comments(self.unit.source(path))
        return self.comments[path]

    def symbol(self, wanted: str) -> str:
        """`wanted`, numbered if it is taken."""
        name, n = wanted, 1
        while name in self.symbols:
            n += 1
            name = f"{wanted}_{n}"
        self.symbols.add(name)
        return name

    def report(self, error: LiftError, cursor: Any) -> None:
        """Report what is refused; an error without a code follows from one that has been reported."""
        if not error.code:
            return
        self.sink.report(error.code, ast.span(error.cursor or cursor), **error.args_for)


@dataclass
class Scope:
    """What the body of one function knows."""

    lifting: Lifting
    name: str
    vars: dict[int, Expr] = field(default_factory=dict)  # declaration → what its name stands for
    this: Expr | None = None
    code: Any = None  # the body, as the compiler's cursor
    by_pointer: bool = False  # a `return` gives the address of what it names
    hoisted: list[Var] = field(default_factory=list)  # shared arrays declared outside the function
    template_values: dict[str, int] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)  # declarations that could not be lifted

    @property
    def types(self) -> Types:
        return self.lifting.types

    def type_of(self, cursor: Any) -> Type:
        """The type of an expression or a declaration, references stripped."""
        return self.lifting.types.of(cursor.type)

    def text(self, cursor: Any) -> str:
        path, start, end = ast.offsets(cursor)
        return self.lifting.unit.source(path)[start:end].decode("utf-8", "replace")

    def declare(
        self, cursor: Any, name: str, storage: Storage = "local", *, kind: Type | None = None, align: int = 0
    ) -> Var:
        """A new variable for a declaration of this function."""
        clang_type = cursor.type
        ref = is_lvalue_reference(clang_type)  # `T&&` is a value of its own
        decays = isinstance(kind, Pointer) and is_array(clang_type)
        const = is_const(strip_reference(clang_type)) and not decays
        var = self.lifting.new_var(
            name,
            kind if kind is not None else self.type_of(cursor),
            storage,
            ref=ref,
            const=const,
            align=align,
            span=ast.span(cursor),
        )
        self.vars[cursor.data[0]] = VarRef(var)
        return var
