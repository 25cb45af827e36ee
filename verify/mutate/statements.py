"""Changes to statements: barriers and stores dropped, guards fixed, plain for atomic, narrower values."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping

from verify.mutate.expressions import number_of
from verify.mutate.place import Place
from verify.mutate.scope import literal
from verify.mutate.text import OPERATORS, Change
from verify.mutate.types import last_name

# Calls that order or wait and give no value.
_BARRIER = re.compile(
    r"sync_threads|sync_warp|syncwarp|barrier\w*|\w*fence\w*|\w*_wait(_\w+)?|\w*wait_group\w*|\w*commit_group\w*"
    r"|cluster_(?:arrive|wait)\w*|mbarrier_\w+|arrive\w*|wait|nanosleep"
    r"|(?:producer|consumer)_(?:acquire|commit|release|wait|tail)"
)
_STORES = frozenset({"store_vector", "store"})
_ATOMIC = re.compile(r"atomic_(add|sub|and|or|xor|exch)")
_PLAIN: Mapping[str, str] = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
_AXES = frozenset({"thread_idx", "block_idx", "block_dim", "grid_dim", "block_extent", "grid_extent"})
_NARROWER: Mapping[str, str] = {"Float32": "Float16", "Float64": "Float32"}
_AUGMENTED: Mapping[type[ast.operator], str] = {
    ast.Add: "-=",
    ast.Sub: "+=",
    ast.Mult: "+=",
    ast.BitAnd: "|=",
    ast.BitOr: "&=",
    ast.LShift: ">>=",
    ast.RShift: "<<=",
}


def dropped(node: ast.stmt, at: Place) -> Iterator[Change]:
    """Barriers, waits and fences; stores and atomics."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = last_name(node.value.func)
        if _BARRIER.fullmatch(name):
            yield at.change(node, "pass", "barrier", f"without {name}")
        elif name in _STORES or name.startswith("atomic_"):
            yield at.change(node, "pass", "store", f"without {name}")
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        yield at.change(node, "pass", "store", f"without the store to {at.text.of(node.targets[0])}")


def guards(node: ast.stmt, at: Place) -> Iterator[Change]:
    """`if` always and never, loops that never run."""
    if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Constant):
        if isinstance(node, ast.If):
            yield at.change(node.test, "True", "guard")
        yield at.change(node.test, "False", "tail")


def atomics(node: ast.stmt, at: Place) -> Iterator[Change]:
    """A read, an addition and a write in place of an atomic operation."""
    match node:
        case ast.Expr(value=ast.Call() as call):
            old = ""
        case ast.Assign(targets=[ast.Name(id=old)], value=ast.Call() as call):
            pass
        case _:
            return
    found = _ATOMIC.fullmatch(last_name(call.func))
    if found is None or len(call.args) < 2:
        return
    pointer, value = (at.text.operand(a) for a in call.args[:2])
    read = old or f"{pointer}[0]"
    new = value if found[1] == "exch" else f"{read} {_PLAIN[found[1]]} {value}"
    first = f"{old} = {pointer}[0]; " if old else ""
    yield at.change(node, f"{first}{pointer}[0] = {new}", "atomic", f"{found[0]} → plain")


def axes(node: ast.stmt, at: Place) -> Iterator[Change]:
    """`x, y, _ = thread_idx()` with x and y exchanged."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=[first, second, *_])], value=ast.Call(func=func)):
            names = (at.text.of(first), at.text.of(second))
            if last_name(func) in _AXES and names != ("_", "_"):
                (start, middle), (late, end) = at.text.span(first), at.text.span(second)
                gap = at.text.raw[middle:late].decode()
                what = f"{last_name(func)}: x ↔ y"
                yield Change(start, end, names[1] + gap + names[0], "axis", what)


def narrowed(node: ast.stmt, at: Place) -> Iterator[Change]:
    """A computed float passes through the next narrower type."""
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Return) or node.value is None:
        return
    value = node.value
    computed = isinstance(value, ast.BinOp | ast.IfExp | ast.Call | ast.Subscript)
    kind = at.types.of(value)
    if not computed or kind not in _NARROWER or _is_cast_of_number(value, at):
        return
    new = f"cutlass.{kind}(cutlass.{_NARROWER[kind]}({at.text.of(value)}))"
    yield at.change(value, new, "narrow", f"{kind} → {_NARROWER[kind]} → {kind}")


def _is_cast_of_number(node: ast.expr, at: Place) -> bool:
    """Float32(1.0), Float32(-float("inf")): nothing is lost, or it is a constant that has its own changes."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    inner = node.args[0]
    while isinstance(inner, ast.UnaryOp):
        inner = inner.operand
    return number_of(inner, at) is not None or (
        isinstance(inner, ast.Call) and last_name(inner.func) == "float"
    )


def steps(node: ast.stmt, at: Place) -> Iterator[Change]:
    """A loop's own increment plus one; `+=` for `-=`."""
    match node:
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in _AUGMENTED:
            start, end = at.text.between(target, value, OPERATORS[type(op)] + "=")
            new = _AUGMENTED[type(op)]
            yield Change(start, end, new, "operator", f"{OPERATORS[type(op)]}= → {new}")
        case ast.Assign(
            targets=[ast.Name(id=name) as target],
            value=ast.BinOp(left=ast.Name(id=same), op=ast.Add(), right=value),
        ) if name == same:
            pass
        case _:
            return
    loop = next((n for n in at.enclosing(node) if isinstance(n, ast.While)), None)
    if loop is None or not isinstance(target, ast.Name) or literal(value) is not None:
        return
    if any(isinstance(n, ast.Name) and n.id == target.id for n in ast.walk(loop.test)):
        yield at.change(value, at.joined(value, "+", "1", value), "step")


RULES: tuple[Callable[[ast.stmt, Place], Iterator[Change]], ...] = (
    dropped,
    guards,
    atomics,
    axes,
    narrowed,
    steps,
)
