"""A module's text and the places of its syntax tree in it: an edit changes a span and nothing else."""

from __future__ import annotations

import ast
import io
from dataclasses import dataclass
from itertools import accumulate

# What a syntax tree calls an operator, and how it is written.
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One edit: bytes `start` to `end` of the text become `new`; `kind` and `what` are for reports."""

    start: int
    end: int
    new: str
    kind: str
    what: str


class Text:
    """`source` as UTF-8 bytes, which is what the tree's columns count. Offsets are in bytes from 0."""

    def __init__(self, source: str) -> None:
        self.raw = source.encode()
        # Lines as the tree counts them: form feeds and the like end none.
        lengths = [len(line) for line in io.BytesIO(self.raw)]
        self._starts = [0, *accumulate(lengths)]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where a node begins and ends, without parentheses around it."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def of(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def operand(self, node: ast.expr) -> str:
        """The node's text, in parentheses unless it needs none anywhere."""
        text = self.of(node)
        whole = isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript)
        return text if whole else f"({text})"

    def between(self, left: ast.expr, right: ast.expr, token: str) -> tuple[int, int]:
        """Where `token` stands between two nodes; parentheses and comments may stand there too."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.raw[start:end].decode()
        plain = gap if "#" not in gap else _without_comments(gap)
        at = plain.index(token)
        before = len(plain[:at].encode())
        return start + before, start + before + len(token.encode())

    def replace(self, change: Change) -> str:
        return (self.raw[: change.start] + change.new.encode() + self.raw[change.end :]).decode()

    def line(self, offset: int) -> int:
        """The line of a byte, counted from 1."""
        return self.raw.count(b"\n", 0, offset) + 1


def _without_comments(gap: str) -> str:
    """The same text with spaces (one per byte) in place of comments."""
    lines = []
    for line in gap.splitlines(keepends=True):
        code, sign, comment = line.partition("#")
        end = "\n" if line.endswith("\n") else ""
        lines.append(code + " " * len((sign + comment.removesuffix("\n")).encode()) + end)
    return "".join(lines)
