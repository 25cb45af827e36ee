"""Which functions of a port run on the device: its kernels and the @cute.jit functions that they call."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def device_functions(module: ast.Module, entry: str) -> list[ast.FunctionDef]:
    """In the order of the module; of the kernels, those that `entry` leads to, or all where none is found."""
    functions = {n.name: n for n in module.body if isinstance(n, ast.FunctionDef)}
    mentions = {name: _names(f) & functions.keys() for name, f in functions.items()}
    kernels = {name for name, f in functions.items() if "kernel" in _decorators(f)}
    called = _reach([entry], mentions)
    roots = kernels & called or kernels
    inner = {n for n in _reach(roots, mentions) if "jit" in _decorators(functions[n])}
    return [f for name, f in functions.items() if name in roots | inner]


def _reach(start: Iterable[str], mentions: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [n for n in start if n in mentions]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += mentions[name]
    return found


def _names(function: ast.FunctionDef) -> set[str]:
    return {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}


def _decorators(function: ast.FunctionDef) -> set[str]:
    """The last part of each decorator's name: `kernel` for @cute.kernel and @cute.kernel(…)."""
    found = set()
    for d in function.decorator_list:
        target = d.func if isinstance(d, ast.Call) else d
        if isinstance(target, ast.Attribute):
            found.add(target.attr)
        elif isinstance(target, ast.Name):
            found.add(target.id)
    return found


def module_numbers(module: ast.Module) -> dict[str, int | float]:
    """Constants of the module: names assigned once, to a number."""
    found: dict[str, int | float] = {}
    seen: set[str] = set()
    for statement in module.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        if not isinstance(target, ast.Name):
            continue
        if target.id in seen:
            found.pop(target.id, None)
        elif (number := literal(value)) is not None:
            found[target.id] = number
        seen.add(target.id)
    return found


def literal(node: ast.expr) -> int | float | None:
    """The number that a literal, signed or not, stands for; no truth values."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    return None
