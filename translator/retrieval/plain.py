"""A kernel model as plain C: kernel and device functions, conversions left out, constants as values.

Templates, macros, typedefs, overloaded operators and cooperative groups are resolved in it; names are the
author's. It is what the detectors of `idioms.toml` look at; nobody compiles it.
"""

from __future__ import annotations

from collections.abc import Iterable

from translator.model import expr as x
from translator.model import stmt as s
from translator.model.kernel import Function, KernelModel
from translator.model.types import Array, Type

_STRENGTH = {
    "*": 12, "/": 12, "%": 12, "+": 11, "-": 11, "<<": 10, ">>": 10, "<": 9, ">": 9, "<=": 9, ">=": 9,
    "==": 8, "!=": 8, "&": 7, "^": 6, "|": 5, "&&": 4, "||": 3,
}  # fmt: skip
_BITS = frozenset(("<<", ">>", "&", "^", "|"))  # written with parentheses, as people do
_CONDITIONAL, _ASSIGN, _COMMA, _PREFIX, _ATOM = 2, 1, 0, 13, 15


def plain(model: KernelModel) -> str:
    """Functions first, then the kernel; `block_thread_rank()` of cooperative groups is not written out."""
    functions = [f for f in model.functions if f.name != "block_thread_rank"]
    return "\n".join(_function(f) for f in (*functions, model.kernel))


def _function(f: Function) -> str:
    params = ", ".join(f"{v.type} {v.name}" for v in f.params)
    return f"{f.result} {f.name}({params}) {{ {_body(f.body)} }}"


def _body(statements: Iterable[s.Stmt]) -> str:
    return " ".join(_statement(one) for one in statements)


def _statement(one: s.Stmt) -> str:
    match one:
        case s.Decl():
            return _declared(one) + ";"
        case s.ExprStmt():
            return _text(one.expr) + ";"
        case s.If():
            other = f" else {{ {_body(one.other)} }}" if one.other else ""
            return f"if ({_text(one.cond)}) {{ {_body(one.then)} }}{other}"
        case s.For():
            start = ", ".join(_statement(i).removesuffix(";") for i in one.init)
            cond = _text(one.cond) if one.cond is not None else ""
            step = _text(one.step) if one.step is not None else ""
            return f"for ({start}; {cond}; {step}) {{ {_body(one.body)} }}"
        case s.While():
            return f"while ({_text(one.cond)}) {{ {_body(one.body)} }}"
        case s.DoWhile():
            return f"do {{ {_body(one.body)} }} while ({_text(one.cond)});"
        case s.Switch():
            cases = " ".join(f"case {c.values[0] if c.values else 0}: {_body(c.body)}" for c in one.cases)
            return f"switch ({_text(one.value)}) {{ {cases} }}"
        case s.Block():
            return f"{{ {_body(one.body)} }}"
        case s.Break():
            return "break;"
        case s.Continue():
            return "continue;"
        case s.Return():
            return f"return {_text(one.value)};" if one.value is not None else "return;"
    return ""  # statements of later passes


def _declared(d: s.Decl) -> str:
    kind, sizes = _element(d.var.type)
    shared = "__shared__ " if d.var.storage in ("shared", "dynamic_shared") else ""
    start = f" = {_text(d.init)}" if d.init is not None else ""
    return f"{shared}{kind} {d.var.name}{sizes}{start}"


def _element(t: Type) -> tuple[str, str]:
    sizes = ""
    while isinstance(t, Array):
        sizes += f"[{'' if t.count is None else t.count}]"
        t = t.of
    return str(t), sizes


def _text(e: x.Expr, over: int = _COMMA) -> str:
    """`e`, in parentheses where it binds weaker than `over`."""
    strength, text = _written(e)
    return text if strength >= over else f"({text})"


def _args(args: Iterable[x.Expr]) -> str:
    return ", ".join(_text(a, _ASSIGN) for a in args)


def _written(e: x.Expr) -> tuple[int, str]:
    match e:
        case x.Literal():
            return _ATOM, str(int(e.value)) if isinstance(e.value, bool | int) else repr(e.value)
        case x.String():
            return _ATOM, '""'
        case x.VarRef():
            return _ATOM, e.var.name
        case x.Special():
            return _ATOM, f"{e.base}.{e.axis}"
        case x.Unary():
            return _PREFIX, e.op + _text(e.operand, _PREFIX)
        case x.Binary() | x.Logical():
            own = _STRENGTH[e.op]
            left, right = (_PREFIX, _PREFIX) if e.op in _BITS else (own, own + 1)
            return own, f"{_text(e.left, left)} {e.op} {_text(e.right, right)}"
        case x.Conditional():
            parts = (_text(e.cond, 3), _text(e.then, _ASSIGN), _text(e.other, _CONDITIONAL))
            return _CONDITIONAL, "{} ? {} : {}".format(*parts)
        case x.Cast() | x.Bitcast():
            return _written(e.operand)
        case x.Index():
            return _ATOM, f"{_text(e.base, 14)}[{_text(e.index)}]"
        case x.Deref():
            return _PREFIX, f"*{_text(e.pointer, _PREFIX)}"
        case x.Member():
            if isinstance(e.object, x.Deref):
                return _ATOM, f"{_text(e.object.pointer, 14)}->{e.name}"
            return _ATOM, f"{_text(e.object, 14)}.{e.name}"
        case x.AddrOf():
            return _PREFIX, f"&{_text(e.lvalue, _PREFIX)}"
        case x.Decay():
            return _written(e.array)
        case x.PtrAdd():
            return 11, f"{_text(e.pointer, 11)} + {_text(e.offset, 12)}"
        case x.PtrDiff():
            return 11, f"{_text(e.left, 11)} - {_text(e.right, 12)}"
        case x.Assign():
            return _ASSIGN, f"{_text(e.target, _PREFIX)} {e.op}= {_text(e.value, _ASSIGN)}"
        case x.IncDec():
            return _PREFIX, f"{e.op * 2}{_text(e.target, _PREFIX)}"
        case x.Comma():
            return _COMMA, f"{_text(e.left)}, {_text(e.right)}"
        case x.Construct():
            return _ATOM, f"{e.type}({_args(e.args)})"
        case x.InitList():
            return _ATOM, f"{{{_args(e.items)}}}"
        case x.Call():
            return _ATOM, f"{_called(e.symbol)}({_args(e.args)})"
        case x.Intrinsic():
            return _ATOM, f"{e.name}({_args(e.args)})"
    return _ATOM, "0"


def _called(symbol: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in symbol)
