"""What each name of a module stands for: an import, something of the file's own, or a builtin."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)


@dataclass(slots=True)
class Scope:
    """One scope. `bound` maps a name to what an import made it, or to "" for anything else; `torn` are names
    that different places bind to different things of which one is an import."""

    node: ast.AST
    parent: Scope | None
    bound: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[ast.expr | None]] = field(default_factory=dict)  # what is assigned to each name
    torn: set[str] = field(default_factory=set)

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    def bind(self, name: str, target: str = "", value: ast.expr | None = None) -> None:
        if self.bound.get(name, target) != target:
            self.torn.add(name)
        self.bound[name] = self.bound.get(name) or target
        self.values.setdefault(name, []).append(value)

    def find(self, name: str) -> Scope | None:
        """The scope that binds a name as seen from here; None for builtins. A class is not seen from within
        its functions."""
        at: Scope | None = self
        first = True
        while at is not None:
            if name in at.bound and (first or not at.is_class):
                return at
            at, first = at.parent, False
        return None


class Names:
    """The scopes of a module: `of[node]` is the scope that a function, class or comprehension opens."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(tree, None)
        self.of: dict[ast.AST, Scope] = {tree: self.module}
        self._bound: set[ast.AST] = set()  # targets whose value is known
        self._fill(tree, self.module)

    def walk(self, node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
        """Each node below, parents first, with the scope that it is read in; `scope` is that of `node`."""
        for child in ast.iter_child_nodes(node):
            at = self.of[node] if _opens(node, child) else scope
            yield child, at
            yield from self.walk(child, at)

    def _fill(self, node: ast.AST, scope: Scope) -> None:
        inner = scope
        if isinstance(node, _SCOPES):
            inner = self.of[node] = Scope(node, scope)
        if isinstance(node, Function):
            a = node.args
            for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))):
                inner.bind(p.arg)
        for child in ast.iter_child_nodes(node):
            at = inner if _opens(node, child) else scope
            self._bindings(child, at)
            self._fill(child, at)

    def _bindings(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import():
                for a in node.names:
                    root = a.name.partition(".")[0]
                    scope.bind(a.asname or root, a.name if a.asname else root)
            case ast.ImportFrom():
                for a in node.names:
                    scope.bind(a.asname or a.name, f"{node.module or '.'}.{a.name}")
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                scope.bind(node.name)
            case ast.Assign():
                for t in node.targets:
                    if isinstance(t, ast.Name):
                        scope.bind(t.id, value=node.value)
                        self._bound.add(t)
            case ast.AnnAssign(target=ast.Name(id=name) as t):
                self._bound.add(t)
                if node.value is not None or isinstance(scope.node, Function):
                    scope.bind(name, value=node.value)  # else it only declares
            case ast.AugAssign(target=ast.Name(id=name) as t) if name in scope.bound:
                self._bound.add(t)  # it stays what it was
            case ast.NamedExpr():
                at = scope  # a walrus in a comprehension binds outside it
                while isinstance(at.node, _COMPREHENSIONS) and at.parent is not None:
                    at = at.parent
                at.bind(node.target.id, value=node.value)
                self._bound.add(node.target)
            case ast.Name(ctx=ast.Store()):
                if node not in self._bound:
                    scope.bind(node.id)
            case (
                ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.ExceptHandler(name=str(name))
            ):
                scope.bind(name)
            case ast.MatchMapping(rest=str(name)):
                scope.bind(name)


def _opens(node: ast.AST, child: ast.AST) -> bool:
    """Whether `child` is read in the scope that `node` opens: decorators, defaults, annotations and bases are
    read outside."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in node.body
    if isinstance(node, ast.Lambda):
        return child is node.body
    return isinstance(node, _COMPREHENSIONS)


def resolve(node: ast.AST | None, scope: Scope) -> str | None:
    """The full dotted name of an expression that starts at an import, as in "torch.cuda.current_stream";
    of a builtin its bare name; None for what the file made itself."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    held = scope.find(node.id)
    if held is None:
        return ".".join([node.id, *reversed(parts)])
    target = held.bound[node.id]
    return ".".join([target, *reversed(parts)]) if target else None


def root_of(node: ast.expr) -> ast.expr:
    """What an attribute or a subscript chain starts at."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node
