"""Where a node stands in its function: what the rules ask before they propose a change."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from verify.mutate.text import Change, Text
from verify.mutate.types import FLOATS, INTS, Types, last_name

# Keyword arguments that change no value: speed, promises and names.
_SILENT_KEYWORDS = frozenset(
    {
        *("unroll", "unroll_full", "unroll_count", "vectorize", "prefetch_stages", "pipelining"),
        *("align", "alignment", "assumed_align", "byte_alignment", "is_invariant", "loc", "ip"),
        *("dtype", "name", "space", "count", "sem", "scope"),
    }
)
# Positional arguments likewise, and counts whose change could not even be unpacked.
_SILENT_ARGUMENTS: Mapping[str, frozenset[int]] = {
    "alloc_smem": frozenset({0, 2}),
    "load_vector": frozenset({1, 2}),
    "ldg_vector": frozenset({1, 2}),
    "store_vector": frozenset({2}),
    "get_dyn_smem": frozenset({0, 1}),
}
# Around these, text with operators needs parentheses.
_BINDS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Starred)
RANGES = frozenset({"range", "range_dynamic", "range_constexpr"})


class Place:
    """One device function: its text, the types of its names, and what encloses each node."""

    def __init__(self, text: Text, function: ast.FunctionDef, numbers: Mapping[str, int | float]) -> None:
        self.text = text
        self.function = function
        self.types = Types(function, numbers)
        self._parents: dict[ast.AST, ast.AST] = {}
        self._assigned: Counter[str] = Counter(a.arg for a in ast.walk(function) if isinstance(a, ast.arg))
        for node in ast.walk(function):
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._assigned[node.id] += 1
        self.numbers = {n: v for n, v in numbers.items() if n not in self._assigned}

    def parent(self, node: ast.AST) -> ast.AST:
        return self._parents[node]

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around this one, from inside, up to the function."""
        while (node := self._parents.get(node, self.function)) is not self.function:
            yield node

    def bare(self, node: ast.expr) -> str:
        """The node's text without a cast around it."""
        if isinstance(node, ast.Call) and len(node.args) == 1 and last_name(node.func) in (*INTS, *FLOATS):
            return self.bare(node.args[0])
        return self.text.of(node)

    def changes_later(self, name: str) -> bool:
        """True where the function gives the name a value more than once."""
        return self._assigned[name] > 1

    def change(self, node: ast.expr | ast.stmt, new: str, kind: str, what: str = "") -> Change:
        """The node's text becomes `new`."""
        start, end = self.text.span(node)
        return Change(start, end, new, kind, what or f"{_short(self.text.of(node))} → {_short(new)}")

    def joined(self, left: ast.expr | str, op: str, right: ast.expr | str, instead_of: ast.expr) -> str:
        """`left op right` for the place of a node."""
        parts = (p if isinstance(p, str) else self.text.operand(p) for p in (left, right))
        return self.enclosed(f" {op} ".join(parts), instead_of)

    def enclosed(self, text: str, instead_of: ast.expr) -> str:
        """Text with operators, in parentheses if it needs them in the node's place and has none there."""
        around = self._parents[instead_of]
        binds = isinstance(around, _BINDS)
        if isinstance(around, ast.Subscript | ast.Attribute):
            binds = around.value is instead_of
        start, end = self.text.span(instead_of)
        held = self.text.raw[start - 1 : start] == b"(" and self.text.raw[end : end + 1] == b")"
        return f"({text})" if binds and not held else text

    def visible(self) -> Iterator[ast.expr | ast.stmt]:
        """Statements and expressions a change of which can change values, in the order of the text."""
        waiting: list[ast.AST] = list(reversed(self.function.body))
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.If) and _does_nothing(node):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            if isinstance(node, ast.expr | ast.stmt):
                yield node
            waiting += reversed([c for c in ast.iter_child_nodes(node) if not self._silent(node, c)])

    def _silent(self, node: ast.AST, child: ast.AST) -> bool:
        if isinstance(child, ast.keyword):
            return child.arg in _SILENT_KEYWORDS
        if isinstance(node, ast.Call):
            silent = _SILENT_ARGUMENTS.get(last_name(node.func), frozenset())
            named = child is node.func and isinstance(child, ast.Name)
            return named or any(node.args[k] is child for k in silent if k < len(node.args))
        if isinstance(node, ast.Subscript):
            # cutlass.Pointer[Float32, gmem]: a type, not an element
            return child is node.slice and last_name(node.value) in ("Pointer", "Constexpr")
        return isinstance(node, ast.AnnAssign) and child is node.annotation


def _does_nothing(node: ast.If) -> bool:
    return not node.orelse and all(isinstance(s, ast.Pass) for s in node.body)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 48 else text[:45] + "…"
