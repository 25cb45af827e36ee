"""A stable text form of the kernel model, for people, tests and run folders.

    (a +.f32 b)      arithmetic in f32             f32(x)   implicit cast, f32!(x) one the author wrote
    (a <.i32 b)      comparison of i32 values      a@       array used as a pointer (Decay)
    32:i32'N'        a literal spelled N           $expf(x) an intrinsic, f(x) a call of a device function
    x +=.f32 v       compound assignment           float4{…} a struct value, {…} an initialiser

A name that stands for several variables of one function is numbered in order of appearance: `i`, `i#2`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from translator.model.expr import (
    AddrOf,
    Assign,
    Binary,
    Bitcast,
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
    Intrinsic,
    Literal,
    Logical,
    Member,
    PtrAdd,
    PtrDiff,
    Special,
    String,
    Tuple,
    Unary,
    Unsupported,
    Var,
    VarRef,
    VectorLoad,
)
from translator.model.kernel import Function, Global, KernelModel
from translator.model.stmt import (
    Block,
    Break,
    Continue,
    Decl,
    DoWhile,
    ExprStmt,
    For,
    ForRange,
    If,
    Return,
    Stmt,
    Switch,
    Unpack,
    VectorStore,
    While,
)
from translator.model.types import Pointer, Type


class Names:
    """Printed names of variables, unique within one dump of a function."""

    def __init__(self) -> None:
        self._of: dict[int, str] = {}
        self._seen: dict[str, int] = {}

    def __call__(self, var: Var) -> str:
        if var.uid not in self._of:
            n = self._seen[var.name] = self._seen.get(var.name, 0) + 1
            self._of[var.uid] = var.name if n == 1 else f"{var.name}#{n}"
        return self._of[var.uid]


def dump_expr(e: Expr, names: Names | None = None) -> str:
    """`e` on one line."""
    return _top(e, names or Names())


def dump_model(model: KernelModel) -> str:
    """The whole model: globals, device functions (callees first), the kernel."""
    parts = ["\n".join(_global(g) for g in model.globals)] if model.globals else []
    parts += [dump_function(f) for f in (*model.functions, model.kernel)]
    return "\n".join(parts)


def dump_function(f: Function) -> str:
    """Signature and body, one statement a line, two spaces a level."""
    names = Names()
    params = ", ".join(_declared(p, names) for p in f.params)
    head = f"{'kernel' if f.is_kernel else 'device'} {f.symbol}({params}) -> {f.result}"
    if f.template_args:
        head += " [" + ", ".join(f"{n} = {a}" for n, a in f.template_args) + "]"
    if f.max_threads:
        head += f" bounds({f.max_threads}, {f.min_blocks})"
    lines = [f"// {c}" for c in f.comments] + [head, *("  " + x for x in _body(f.body, names))]
    return "\n".join(lines) + "\n"


def dump_stmts(body: Iterable[Stmt], names: Names | None = None) -> str:
    """Statements, one a line."""
    return "\n".join(_body(body, names or Names()))


def _global(g: Global) -> str:
    init = "" if g.init is None else " = {" + ", ".join(repr(v) for v in g.init) + "}"
    return f"global {_declared(g.var, Names())}{init}"


def _declared(v: Var, names: Names) -> str:
    words = "" if v.storage in ("local", "param") else v.storage + " "
    const = "const " if v.const else ""
    align = f" align({v.align})" if v.align else ""
    return f"{words}{names(v)}: {const}{v.type}{'&' if v.ref else ''}{align}"


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return ("  " + x for x in lines)


def _body(body: Iterable[Stmt], names: Names) -> Iterator[str]:
    for s in body:
        for c in getattr(s, "comments", ()):
            yield f"// {c}"
        yield from _stmt(s, names)


def _advance(body: Iterable[Stmt], names: Names) -> Iterator[str]:
    lines = list(_body(body, names))
    if lines:
        yield "advance:"
        yield from _indent(lines)


def _unroll(n: int | None) -> str:
    return "" if n is None else f"unroll({n}) "


def _stmt(s: Stmt, names: Names) -> Iterator[str]:
    if isinstance(s, Decl):
        text = _declared(s.var, names)
        yield text if s.init is None else f"{text} = {_expr(s.init, names)}"
    elif isinstance(s, ExprStmt):
        yield _top(s.expr, names)
    elif isinstance(s, If):
        yield f"if {_expr(s.cond, names)}:"
        yield from _indent(_body(s.then, names))
        if s.other:
            yield "else:"
            yield from _indent(_body(s.other, names))
    elif isinstance(s, For):
        init = "; ".join(x for i in s.init for x in _stmt(i, names))
        cond = "" if s.cond is None else _expr(s.cond, names)
        step = "" if s.step is None else _top(s.step, names)
        yield f"{_unroll(s.unroll)}for [{init}] while [{cond}] step [{step}]:"
        yield from _indent(_body(s.body, names))
        yield from _advance(s.advance, names)
    elif isinstance(s, ForRange):
        bounds = ", ".join(_expr(x, names) for x in (s.start, s.stop, s.step))
        yield f"{_unroll(s.unroll)}for {_declared(s.var, names)} in range({bounds}):"
        yield from _indent(_body(s.body, names))
    elif isinstance(s, Unpack):
        yield f"{_list(s.targets, names)} = {_expr(s.value, names)}"
    elif isinstance(s, VectorStore):
        yield f"store align({s.align}) {_expr(s.pointer, names)} = ({_list(s.values, names)})"
    elif isinstance(s, While):
        yield f"{_unroll(s.unroll)}while {_expr(s.cond, names)}:"
        yield from _indent(_body(s.body, names))
    elif isinstance(s, DoWhile):
        yield "do:"
        yield from _indent(_body(s.body, names))
        yield from _advance(s.advance, names)
        yield f"while {_expr(s.cond, names)}"
    elif isinstance(s, Switch):
        yield f"switch {_expr(s.value, names)}:"
        for c in s.cases:
            labels = [str(v) for v in c.values] + ["default"] * c.default
            yield f"  case {', '.join(labels)}:"
            yield from _indent(_indent(_body(c.body, names)))
    elif isinstance(s, Block):
        yield "{"
        yield from _indent(_body(s.body, names))
        yield "}"
    elif isinstance(s, Return):
        yield "return" if s.value is None else f"return {_expr(s.value, names)}"
    else:
        yield {Break: "break", Continue: "continue"}[type(s)]


def _top(e: Expr, names: Names) -> str:
    """As `_expr`; the outer parentheses of an assignment left out."""
    text = _expr(e, names)
    return text[1:-1] if isinstance(e, Assign) else text


def _type(t: Type) -> str:
    return f"<{t}>" if isinstance(t, Pointer) else str(t)


def _list(items: Iterable[Expr], names: Names) -> str:
    return ", ".join(_expr(x, names) for x in items)


def _expr(e: Expr, names: Names) -> str:
    def at(x: Expr) -> str:
        return _expr(x, names)

    if isinstance(e, Literal):
        name = getattr(e, "name", "")
        return f"{e.value!r}:{e.type}" + (f"'{name}'" if name else "")
    if isinstance(e, VarRef):
        return names(e.var)
    if isinstance(e, Special):
        return f"{e.base}.{e.axis}"
    if isinstance(e, String):
        return '"' + e.value.encode("unicode_escape").decode().replace('"', '\\"') + '"'
    if isinstance(e, Unary):
        return f"({e.op}.{e.type} {at(e.operand)})"
    if isinstance(e, Binary):
        return f"({at(e.left)} {e.op}.{_type(e.left.type)} {at(e.right)})"
    if isinstance(e, Logical):
        return f"({at(e.left)} {e.op} {at(e.right)})"
    if isinstance(e, Conditional):
        return f"({at(e.cond)} ? {at(e.then)} : {at(e.other)})"
    if isinstance(e, Cast):
        return f"{_type(e.type)}{'!' if e.explicit else ''}({at(e.operand)})"
    if isinstance(e, Bitcast):
        return f"bits {e.type}({at(e.operand)})"
    if isinstance(e, Index):
        return f"{at(e.base)}[{at(e.index)}]"
    if isinstance(e, Deref):
        return f"*({at(e.pointer)})"
    if isinstance(e, Member):
        return f"{at(e.object)}.{e.name}"
    if isinstance(e, AddrOf):
        return f"&({at(e.lvalue)})"
    if isinstance(e, Decay):
        return f"{at(e.array)}@"
    if isinstance(e, PtrAdd):
        return f"({at(e.pointer)} +.ptr {at(e.offset)})"
    if isinstance(e, PtrDiff):
        return f"({at(e.left)} -.ptr {at(e.right)})"
    if isinstance(e, Assign):
        compute = f".{_type(e.compute)}" if e.compute is not None else ""
        return f"({at(e.target)} {e.op}={compute} {at(e.value)})"
    if isinstance(e, IncDec):
        return f"{e.op * 2}{at(e.target)}" if e.prefix else f"{at(e.target)}{e.op * 2}"
    if isinstance(e, Comma):
        return f"({at(e.left)}, {at(e.right)})"
    if isinstance(e, Construct):
        return f"{e.type}{{{_list(e.args, names)}}}"
    if isinstance(e, InitList):
        return f"{{{_list(e.items, names)}}}"
    if isinstance(e, Call):
        return f"{e.symbol}({_list(e.args, names)})"
    if isinstance(e, Intrinsic):
        return f"${e.name}({_list(e.args, names)})"
    if isinstance(e, Element):
        return names(e.var) + "".join(f"[{at(i)}]" for i in e.indices)
    if isinstance(e, Tuple):
        return f"({_list(e.items, names)})"
    if isinstance(e, VectorLoad):
        return f"load{e.count} align({e.align}) {at(e.pointer)}"
    if isinstance(e, Unsupported):
        return f"?{e.what}?"
    raise TypeError(type(e).__name__)
