"""What binds each name of a module, scope by scope: imports, assignments, parameters, definitions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)


@dataclass(frozen=True, slots=True)
class Binding:
    """import: `module` is the full name that the name stands for. assign: `node` is the value. parameter:
    `node` is its annotation, if it has one. define: `node` is the function. other: nothing is known."""

    kind: Literal["import", "assign", "parameter", "define", "other"]
    node: ast.AST | None = None
    module: str = ""


@dataclass(slots=True, eq=False)
class Scope:
    """One scope and what it binds."""

    node: ast.AST
    parent: Scope | None
    bound: dict[str, list[Binding]] = field(default_factory=dict)

    def bind(self, name: str, binding: Binding) -> None:
        self.bound.setdefault(name, []).append(binding)

    def find(self, name: str) -> Scope | None:
        """The scope that binds a name as seen from here. A class is not seen from within its functions."""
        at: Scope | None = self
        first = True
        while at is not None:
            if name in at.bound and (first or not isinstance(at.node, ast.ClassDef)):
                return at
            at, first = at.parent, False
        return None


_OTHER = Binding("other")


class Scopes:
    """All scopes of a module. `shared` are names declared global or nonlocal: their values are not followed.
    `stars` is true where a star import may bind anything."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(tree, None)
        self.shared: set[str] = set()
        self.stars = False
        self.of: dict[ast.AST, Scope] = {tree: self.module}
        self._valued: set[ast.AST] = set()  # targets whose value is kept
        self._fill(tree, self.module)
        for name in self.shared:
            self.module.bind(name, _OTHER)

    def walk(self, node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
        """Each node below, parents first, with the scope that it is read in."""
        for child in ast.iter_child_nodes(node):
            at = self.of[node] if opens(node, child) else scope
            yield child, at
            yield from self.walk(child, at)

    def _fill(self, node: ast.AST, scope: Scope) -> None:
        inner = scope
        if isinstance(node, _SCOPES):
            inner = self.of[node] = Scope(node, scope)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            a = node.args
            for p in (*a.posonlyargs, *a.args, *a.kwonlyargs):
                inner.bind(p.arg, Binding("parameter", p.annotation))
            for star in filter(None, (a.vararg, a.kwarg)):
                inner.bind(star.arg, _OTHER)
        for child in ast.iter_child_nodes(node):
            at = inner if opens(node, child) else scope
            self._bindings(child, at)
            self._fill(child, at)

    def _bindings(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import():
                for a in node.names:
                    root = a.name.partition(".")[0]
                    scope.bind(a.asname or root, Binding("import", node, a.name if a.asname else root))
            case ast.ImportFrom():
                for a in node.names:
                    self.stars |= a.name == "*"
                    module = "" if node.level else f"{node.module}.{a.name}"
                    scope.bind(a.asname or a.name, Binding("import", node, module))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                scope.bind(node.name, Binding("define", node))
            case ast.ClassDef():
                scope.bind(node.name, _OTHER)
            case ast.Assign():
                for t in node.targets:
                    if isinstance(t, ast.Name):
                        self._valued.add(t)
                        scope.bind(t.id, Binding("assign", node.value))
            case ast.AnnAssign(target=ast.Name(id=name) as t):
                self._valued.add(t)
                if node.value is not None:
                    scope.bind(name, Binding("assign", node.value))
                else:
                    scope.bind(name, _OTHER)
            case ast.NamedExpr():
                at = scope  # a walrus in a comprehension binds outside it
                while isinstance(at.node, _COMPREHENSIONS) and at.parent is not None:
                    at = at.parent
                at.bind(node.target.id, _OTHER)
                self._valued.add(node.target)
            case ast.Name(ctx=ast.Store() | ast.Del()):
                if node not in self._valued:
                    scope.bind(node.id, _OTHER)
            case ast.Global() | ast.Nonlocal():
                self.shared.update(node.names)
            case (
                ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.ExceptHandler(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                scope.bind(name, _OTHER)


def opens(node: ast.AST, child: ast.AST) -> bool:
    """Whether `child` is read in the scope that `node` opens: decorators, defaults, annotations and bases are
    read outside, and the first iterable of a comprehension too (which is near enough to inside here)."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in node.body
    if isinstance(node, ast.Lambda):
        return child is node.body
    return isinstance(node, _COMPREHENSIONS)
