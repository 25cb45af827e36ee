"""Calls whose arguments decide what they do: foreign functions, compilation, copies."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verify import static_tables as t
from verify.static_names import Scope, resolve


def judge_call(name: str, node: ast.Call, scope: Scope) -> Iterator[str]:
    """What is wrong with a call of `name`, the full name of a function of the DSL or of CUDA."""
    if name.endswith("cute.ffi"):
        yield from _foreign(node)
    elif name.endswith("cute.compile"):
        yield from _options(node)
    elif name.endswith(f".{t.CUDA_COPY}") and not _to_symbol(node, scope):
        yield "copies memory that is no constant of its own"


def _foreign(node: ast.Call) -> Iterator[str]:
    """CUDA's device library only: from host code the same call reaches any function of the process."""
    given = {k.arg: k.value for k in node.keywords}
    name = given.get("name")
    known = isinstance(name, ast.Constant) and re.fullmatch(t.FOREIGN_NAME, str(name.value))
    if node.args or None in given or "source" in given or not known:
        yield f"calls a foreign function: {ast.unparse(node)[:80]}"


def _options(node: ast.Call) -> Iterator[str]:
    for k in node.keywords:
        if k.arg is None:
            yield "compiles with options that can't be read here"
        elif k.arg == "options":
            text = k.value.value if isinstance(k.value, ast.Constant) else None
            flags = re.findall(r"(?<!\S)--[\w-]+", text) if isinstance(text, str) else ["(not a literal)"]
            yield from (f"compiles with {flag}" for flag in flags if flag not in t.COMPILE_FLAGS)


def _to_symbol(node: ast.Call, scope: Scope) -> bool:
    """Whether the destination is a name that a constant's address was just given."""
    at: Scope | None = scope
    while at is not None and not isinstance(at.node, ast.FunctionDef):
        at = at.parent
    symbols = {
        target.id
        for a in (ast.walk(at.node) if at is not None else ())
        if isinstance(a, ast.Assign)
        and isinstance(a.value, ast.Call)
        and (resolve(a.value.func, scope) or "").endswith(f".{t.CUDA_SYMBOL}")
        and isinstance(a.targets[0], ast.Tuple)
        for target in a.targets[0].elts[1:2]
        if isinstance(target, ast.Name)
    }
    first = node.args[0] if node.args else None
    return isinstance(first, ast.Name) and first.id in symbols
