"""What kind of value an expression of the DSL is, as far as the text alone tells."""

from __future__ import annotations

import ast
from collections.abc import Mapping

# A scalar type's name, "*T" for a pointer or array of T, or "" where nothing is known.
FLOATS = ("Float16", "BFloat16", "Float32", "Float64")
INTS = (
    *("Int8", "Int16", "Int32", "Int64", "Int128"),
    *("Uint8", "Uint16", "Uint32", "Uint64", "Uint128", "Boolean"),
)
_SCALARS = frozenset((*FLOATS, *INTS))
_FLOAT_CALLS = frozenset(
    {"fmax", "fmin", "exp", "log", "sqrt", "rsqrt", "tanh", "fma", "rcp_approx", "float"}
)
_INDEX_CALLS = frozenset(
    {
        *("thread_idx", "block_idx", "block_dim", "grid_dim", "block_extent", "grid_extent"),
        *("lane_idx", "warp_idx", "cluster_idx"),
    }
)
_SAME_AS_FIRST = frozenset({"abs", "runtime", "opaque", "opaque_pointer", "idiv", "irem", "ldg"})


def last_name(node: ast.expr) -> str:
    """`add` for cute.arch.add, `idiv` for idiv, "" for anything without a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def annotated(node: ast.expr | None) -> str:
    """The type that a parameter's annotation names."""
    if isinstance(node, ast.Subscript) and last_name(node.value) == "Pointer":
        inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
        return "*" + last_name(inner)
    name = last_name(node) if node is not None else ""
    return name if name in _SCALARS else ""


class Types:
    """Types of a function's names, found in two passes over it: the second knows what loops change."""

    def __init__(self, function: ast.FunctionDef, numbers: Mapping[str, int | float]) -> None:
        arguments = function.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self._names = {a.arg: annotated(a.annotation) for a in every}
        self._numbers = numbers
        assigns = [n for n in ast.walk(function) if isinstance(n, ast.Assign)]
        for _ in range(2):
            for assign in assigns:
                self._learn(assign)

    def _learn(self, assign: ast.Assign) -> None:
        target = assign.targets[0]
        if isinstance(target, ast.Name):
            if found := self.of(assign.value):
                self._names[target.id] = found
        elif isinstance(target, ast.Tuple):
            value = assign.value
            parts = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
            for name, part in zip(target.elts, parts, strict=False):
                if isinstance(name, ast.Name) and (found := self.of(part)):
                    self._names[name.id] = found

    def is_float(self, node: ast.expr) -> bool:
        return self.of(node) in FLOATS

    def is_pointer(self, node: ast.expr) -> bool:
        return self.of(node).startswith("*")

    def of(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool()):
                return "Boolean"
            case ast.Constant(value=int()):
                return "Int32"
            case ast.Constant(value=float()):
                return "Float32"
            case ast.Name(id=name):
                if name not in self._names and name in self._numbers:
                    return "Float32" if isinstance(self._numbers[name], float) else "Int32"
                return self._names.get(name, "")
            case ast.Compare() | ast.BoolOp():
                return "Boolean"
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.IfExp(body=body, orelse=other):
                return self.of(body) or self.of(other)
            case ast.BinOp(left=left, right=right):
                return _wider(self.of(left), self.of(right))
            case ast.Subscript(value=value):
                inner = self.of(value)
                return inner[1:] if inner.startswith("*") else ""
            case ast.Call():
                return self._called(node)
        return ""

    def _called(self, call: ast.Call) -> str:
        name = last_name(call.func)
        if name in _SCALARS:
            return name
        if name in ("Array", "Pointer"):
            named = [k.value for k in call.keywords if k.arg == "dtype"]
            kinds = [last_name(a) for a in (*named, *call.args[:1])]
            return "*" + next((k for k in kinds if k in _SCALARS), "")
        if name == "data_ptr" and isinstance(call.func, ast.Attribute):
            return self.of(call.func.value)
        if name == "load" and isinstance(call.func, ast.Attribute):
            return self.of(call.func.value).removeprefix("*")
        if name in ("load_vector", "ldg_vector", "ldg") and call.args:
            return self.of(call.args[0]).removeprefix("*")
        if name in _FLOAT_CALLS:
            return next((t for a in call.args if (t := self.of(a)) in FLOATS), "Float32")
        if name in _INDEX_CALLS:
            return "Int32"
        if (name in _SAME_AS_FIRST or name.startswith("shuffle_sync")) and call.args:
            return self.of(call.args[0])
        return ""


def _wider(left: str, right: str) -> str:
    """The type of arithmetic on two: a pointer before a float before an integer."""
    for group in (lambda t: t.startswith("*"), FLOATS.__contains__):
        found = [t for t in (left, right) if group(t)]
        if found:
            return max(found, key=lambda t: FLOATS.index(t) if t in FLOATS else 0)
    return left if left and right else ""
