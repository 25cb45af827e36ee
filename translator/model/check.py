"""Structural checks of a kernel model, run between passes: what no correct step may produce.

`problems` lists what is wrong, one line each; an empty list is a sound model. With `lowered` the rules on
types that lowering removes (structs, references) are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from translator.model.dump import Names, dump_expr
from translator.model.expr import (
    LVALUES,
    AddrOf,
    Assign,
    Binary,
    Call,
    Cast,
    Comma,
    Conditional,
    Construct,
    Decay,
    Deref,
    Element,
    Expr,
    IncDec,
    Index,
    InitList,
    Logical,
    Member,
    PtrAdd,
    PtrDiff,
    String,
    Unary,
    Unsupported,
    Var,
    VarRef,
)
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import (
    Break,
    Continue,
    Decl,
    DoWhile,
    For,
    ForRange,
    If,
    Return,
    Stmt,
    Switch,
    Unpack,
    While,
)
from translator.model.types import BOOL, I64, VOID, Array, Pointer, Scalar, Struct, Type, same
from translator.model.walk import bodies, stmt_exprs, walk_expr

_COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "&", "|", "^"})
_SHIFTS = frozenset({"<<", ">>"})


def problems(model: KernelModel, *, lowered: bool = False) -> list[str]:
    """What is unsound in `model`, as lines that name function, place and expression."""
    functions = {f.symbol: f for f in model.functions}
    found: list[str] = []
    if len(functions) != len(model.functions):
        found.append("two device functions share a symbol")
    outside = {g.var for g in model.globals}
    known: set[str] = set()
    for f in (*model.functions, model.kernel):
        found += [f"{f.symbol}: {p}" for p in _Function(f, functions, outside, known, lowered).run()]
        known.add(f.symbol)
    return found


class _Function:
    def __init__(
        self,
        function: Function,
        functions: dict[str, Function],
        outside: set[Var],
        callable_now: set[str],
        lowered: bool,
    ) -> None:
        self.function = function
        self.functions = functions
        self.callable_now = callable_now
        self.lowered = lowered
        self.visible = set(outside) | set(function.params)
        self.declared: set[Var] = set(function.params)
        self.found: list[str] = []

    def run(self) -> list[str]:
        for p in self.function.params:
            if p.storage != "param":
                self._wrong(f"parameter {p.name} has storage {p.storage}")
        self._body(self.function.body, in_loop=False, in_switch=False)
        return self.found

    def _wrong(self, text: str, e: Expr | None = None) -> None:
        where = f" (line {e.span.line})" if e is not None and e.span.line else ""
        shown = f": {dump_expr(e, Names())[:120]}" if e is not None else ""
        self.found.append(f"{text}{where}{shown}")

    # ---- statements

    def _body(self, statements: Iterable[Stmt], *, in_loop: bool, in_switch: bool) -> None:
        outer = set(self.visible)
        for s in statements:
            self._statement(s, in_loop=in_loop, in_switch=in_switch)
        self.visible = outer

    def _statement(self, s: Stmt, *, in_loop: bool, in_switch: bool) -> None:
        if isinstance(s, Break) and not (in_loop or in_switch):
            self._wrong("break outside a loop or switch")
        if isinstance(s, Continue) and not in_loop:
            self._wrong("continue outside a loop")
        if isinstance(s, For):
            outer = set(self.visible)
            for first in s.init:
                self._statement(first, in_loop=False, in_switch=False)
            self._expressions(s)
            self._body(s.body, in_loop=True, in_switch=False)
            self._body(s.advance, in_loop=False, in_switch=False)
            self.visible = outer
            return
        if isinstance(s, ForRange):
            self._expressions(s)
            outer = set(self.visible)
            self._declare(s.var)
            self._body(s.body, in_loop=True, in_switch=False)
            self.visible = outer
            return
        if isinstance(s, DoWhile):
            self._body(s.body, in_loop=True, in_switch=False)
            self._body(s.advance, in_loop=False, in_switch=False)
            self._expressions(s)
            return
        if isinstance(s, Unpack):  # names its targets where nothing named them before
            for target in s.targets:
                if isinstance(target, VarRef) and target.var not in self.visible:
                    self._declare(target.var)
        self._expressions(s)
        if isinstance(s, Decl):
            self._decl(s)
        loop = in_loop or isinstance(s, While)
        switch = (in_switch or isinstance(s, Switch)) and not isinstance(s, While)
        for inner in bodies(s):
            self._body(inner, in_loop=loop, in_switch=switch)

    def _declare(self, var: Var) -> None:
        if var in self.declared:
            self._wrong(f"{var.name} is declared twice")
        self.declared.add(var)
        self.visible.add(var)

    def _decl(self, s: Decl) -> None:
        v = s.var
        if v.type == VOID:
            self._wrong(f"{v.name} has type void")
        if v.ref and not self.lowered:
            if s.init is None or not isinstance(s.init, LVALUES):
                self._wrong(f"reference {v.name} is bound to no object")
            elif not same(s.init.type, v.type):
                self._wrong(f"reference {v.name} to {v.type} is bound to {s.init.type}", s.init)
        elif s.init is not None and not same(s.init.type, v.type):
            self._wrong(f"{v.name}: {v.type} is initialised by {s.init.type}", s.init)
        if v.storage in ("shared", "dynamic_shared") and s.init is not None:
            self._wrong(f"shared {v.name} has an initialiser")
        self._declare(v)

    def _expressions(self, s: Stmt) -> None:
        for top in stmt_exprs(s):
            for e in walk_expr(top):
                self._expression(e)
        if isinstance(s, If | While | DoWhile | For):
            if s.cond is not None and s.cond.type != BOOL:
                self._wrong(f"condition of type {s.cond.type}", s.cond)
        elif isinstance(s, Switch) and not _is_integer(s.value.type):
            self._wrong("switch on a value that is no integer", s.value)
        elif isinstance(s, Return) and not self.lowered:
            given = VOID if s.value is None else s.value.type
            if not same(given, self.function.result):
                self._wrong(f"returns {given}, declared {self.function.result}", s.value)

    # ---- expressions

    def _expression(self, e: Expr) -> None:
        if isinstance(e, VarRef | Element):
            if e.var not in self.visible:
                self._wrong(f"{e.var.name} is not declared here", e)
            return
        if isinstance(e, Call) and not self.lowered:
            for text in self._call(e):
                self._wrong(text, e)
            return
        rule = _RULES.get(type(e))
        if rule is None or (self.lowered and isinstance(e, Assign | Member | Construct | InitList)):
            return
        for text in rule(e):
            self._wrong(text, e)

    def _call(self, e: Call) -> Iterator[str]:
        f = self.functions.get(e.symbol)
        if f is None:
            yield f"calls {e.symbol}, which is not in the model"
            return
        if e.symbol not in self.callable_now:
            yield f"calls {e.symbol}, which comes later"
        if len(e.args) != len(f.params):
            yield f"{len(e.args)} arguments for {len(f.params)} parameters of {e.symbol}"
            return
        if not same(e.type, f.result):
            yield f"call of type {e.type}, {e.symbol} gives {f.result}"
        for p, a in zip(f.params, e.args, strict=True):
            if not same(p.type, a.type):
                yield f"argument of type {a.type} for {p.name}: {p.type}"
            if p.ref and not p.const and not isinstance(a, (*LVALUES, Comma)):
                yield f"{p.name} is a reference, its argument no object"


def _is_integer(t: Type) -> bool:
    return isinstance(t, Scalar) and t.is_integer


def _unary(e: Unary) -> Iterator[str]:
    if e.op not in ("-", "~", "!"):
        yield f"unary operator {e.op}"
    if e.op == "!" and e.operand.type != BOOL:
        yield "! of a value that is no bool"
    elif not same(e.type, e.operand.type):
        yield f"operand {e.operand.type}, result {e.type}"


def _binary(e: Binary) -> Iterator[str]:
    a, b = e.left.type, e.right.type
    if e.op in _COMPARISONS:
        if not same(a, b) and not (isinstance(a, Pointer) and isinstance(b, Pointer)):
            yield f"compares {a} with {b}"
        if e.type != BOOL:
            yield f"comparison of type {e.type}"
    elif e.op in _SHIFTS:
        if not same(a, e.type) or not _is_integer(a) or not _is_integer(b):
            yield f"shifts {a} by {b} to {e.type}"
    elif e.op in _ARITHMETIC:
        if not (same(a, b) and same(a, e.type)) or not isinstance(a, Scalar):
            yield f"{a} {e.op} {b} of type {e.type}"
    else:
        yield f"binary operator {e.op}"


def _logical(e: Logical) -> Iterator[str]:
    if (e.left.type, e.right.type, e.type) != (BOOL, BOOL, BOOL):
        yield f"{e.op} of {e.left.type} and {e.right.type}"


def _conditional(e: Conditional) -> Iterator[str]:
    if e.cond.type != BOOL:
        yield f"condition of type {e.cond.type}"
    if not (same(e.then.type, e.type) and same(e.other.type, e.type)):
        yield f"arms {e.then.type} and {e.other.type} of {e.type}"


def _is_float_and_pointer(a: Type, b: Type) -> bool:
    return isinstance(a, Scalar) and a.is_float and isinstance(b, Pointer)


def _cast(e: Cast) -> Iterator[str]:
    ends = (e.type, e.operand.type)
    whole = any(isinstance(t, Struct | Array) for t in ends)
    if whole or _is_float_and_pointer(*ends) or _is_float_and_pointer(*reversed(ends)):
        yield f"cast of {e.operand.type} to {e.type}"


def _index(e: Index) -> Iterator[str]:
    if not isinstance(e.base.type, Pointer) or not same(e.base.type.to, e.type):
        yield f"element {e.type} of {e.base.type}"
    if not _is_integer(e.index.type):
        yield f"index of type {e.index.type}"


def _deref(e: Deref) -> Iterator[str]:
    if not isinstance(e.pointer.type, Pointer) or not same(e.pointer.type.to, e.type):
        yield f"{e.type} behind {e.pointer.type}"


def _member(e: Member) -> Iterator[str]:
    t = e.object.type
    if not isinstance(t, Struct) or all(f.name != e.name for f in t.fields):
        yield f"{t} has no member {e.name}"
    elif not same(t.field(e.name).type, e.type):
        yield f"member {e.name} is {t.field(e.name).type}, not {e.type}"


def _addr_of(e: AddrOf) -> Iterator[str]:
    if not isinstance(e.lvalue, (*LVALUES, Comma)):
        yield "address of something that is no object"
    if not isinstance(e.type, Pointer) or not same(e.type.to, e.lvalue.type):
        yield f"address of {e.lvalue.type} of type {e.type}"


def _elements(t: Array) -> list[Type]:
    """What a pointer into an array of type `t` may point to: its elements, or (lowered) its scalars."""
    found: list[Type] = [t.of]
    while isinstance(inner := found[-1], Array):
        found.append(inner.of)
    return found


def _decay(e: Decay) -> Iterator[str]:
    if not isinstance(e.array.type, Array):
        yield f"decay of {e.array.type}"
    elif not isinstance(e.type, Pointer) or not any(same(e.type.to, t) for t in _elements(e.array.type)):
        yield f"{e.array.type} as {e.type}"


def _ptr_add(e: PtrAdd) -> Iterator[str]:
    if not isinstance(e.pointer.type, Pointer) or not same(e.pointer.type, e.type):
        yield f"{e.pointer.type} + offset of type {e.type}"
    if not _is_integer(e.offset.type):
        yield f"offset of type {e.offset.type}"


def _ptr_diff(e: PtrDiff) -> Iterator[str]:
    if e.type != I64 or not isinstance(e.left.type, Pointer) or not same(e.left.type, e.right.type):
        yield f"{e.left.type} - {e.right.type}"


def _assign(e: Assign) -> Iterator[str]:
    if not isinstance(e.target, (*LVALUES, Comma)):
        yield "assignment to something that is no object"
    if isinstance(e.target.type, Pointer) and e.op:
        if e.op not in ("+", "-") or not _is_integer(e.value.type):
            yield f"pointer {e.op}= {e.value.type}"
    elif not e.op:
        if not same(e.target.type, e.value.type):
            yield f"{e.target.type} = {e.value.type}"
    elif e.op in ("<<", ">>"):
        if not _is_integer(e.value.type) or e.compute is None:
            yield f"{e.op}= by {e.value.type}"
    elif e.op not in _ARITHMETIC or e.compute is None or not same(e.value.type, e.compute):
        yield f"{e.target.type} {e.op}= {e.value.type} in {e.compute}"


def _inc_dec(e: IncDec) -> Iterator[str]:
    if not isinstance(e.target, LVALUES) or not same(e.target.type, e.type):
        yield f"++ of {e.target.type} of type {e.type}"


def _construct(e: Construct) -> Iterator[str]:
    if len(e.args) != len(e.type.fields):
        yield f"{len(e.args)} values for {len(e.type.fields)} fields of {e.type}"
        return
    for f, a in zip(e.type.fields, e.args, strict=True):
        if not same(f.type, a.type):
            yield f"field {f.name}: {f.type} from {a.type}"


def _init_list(e: InitList) -> Iterator[str]:
    if isinstance(e.type, Struct):
        wanted: list[Type] = [f.type for f in e.type.fields]
    elif isinstance(e.type, Array):
        wanted = [e.type.of] * (len(e.items) if e.type.count is None else e.type.count)
    else:
        yield f"list for {e.type}"
        return
    if len(e.items) > len(wanted):
        yield f"{len(e.items)} values for {e.type}"
    for t, x in zip(wanted, e.items, strict=False):
        if not same(t, x.type) and not isinstance(x, String):
            yield f"element {t} from {x.type}"


def _unsupported(e: Unsupported) -> Iterator[str]:
    yield f"holds what was refused ({e.what})"


_RULES: dict[type, Callable[..., Iterator[str]]] = {
    Unary: _unary,
    Binary: _binary,
    Logical: _logical,
    Conditional: _conditional,
    Cast: _cast,
    Index: _index,
    Deref: _deref,
    Member: _member,
    AddrOf: _addr_of,
    Decay: _decay,
    PtrAdd: _ptr_add,
    PtrDiff: _ptr_diff,
    Assign: _assign,
    IncDec: _inc_dec,
    Construct: _construct,
    InitList: _init_list,
    Unsupported: _unsupported,
}
