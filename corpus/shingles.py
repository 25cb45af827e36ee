"""How alike two kernels are by structure: names, numbers, comments and layout do not count.

The syntax tree of every function is written as a row of node kinds, with DSL names kept and all other names
replaced; runs of eight neighbours (shingles) are compared as sets. 1.0 is the same structure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from corpus.inline import own_text, parsed

SIZE = 8
ALIKE = 0.9


def shingles(source: str) -> frozenset[tuple[str, ...]]:
    """The shingles of a kernel's own code: inlined blocks are everybody's. SyntaxError, ValueError."""
    words = [w for node in parsed(own_text(source)).body for w in _words(node)]
    return frozenset(tuple(words[k : k + SIZE]) for k in range(max(1, len(words) - SIZE + 1)))


def _words(top: ast.AST) -> Iterator[str]:
    waiting = [top]  # not by recursion: a tree may be deeper than Python's stack
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        yield type(node).__name__
        if isinstance(node, ast.Attribute):
            yield node.attr  # what the DSL is asked for is structure; what things are called is not
        waiting += reversed(list(ast.iter_child_nodes(node)))


def likeness(a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]) -> float:
    """Shared shingles over all of them (Jaccard), 0 to 1."""
    return len(a & b) / len(a | b) if a or b else 1.0
