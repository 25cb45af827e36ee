"""What holds for the launch path alone: the entry, what compiles it, and all they call that is not traced.

Code that the DSL traces may store through what it is given: that is the kernel. The launch path hands
addresses over; it fills no tensor and remembers nothing but compiled functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from verify import static_tables as t
from verify.static_names import Names, Scope, resolve, root_of

Refuse = Callable[[ast.AST, str, str], None]
_LITERALS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_GROWING = frozenset({"append", "extend", "insert", "add", "update"})


def judge_host(tree: ast.Module, names: Names, entries: Iterable[str], refuse: Refuse) -> None:
    """Judge every function of the launch path; `entries` are where it starts."""
    own = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    for function in _reachable(tree, names, entries):
        _Host(function, names, own - t.TORCH_METHODS, refuse).judge()


def _reachable(tree: ast.Module, names: Names, entries: Iterable[str]) -> Iterator[ast.FunctionDef]:
    """Functions of the module that host code may come to. What the DSL traces is no host code."""
    top = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    waiting, seen = [e for e in entries if e in top], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        node = top[name]
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in inside:
            if isinstance(function, ast.FunctionDef) and not traced(function, names):
                yield function
                waiting += [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and n.id in top]


def traced(function: ast.FunctionDef, names: Names) -> bool:
    """True where a decorator of the DSL's makes it code that is traced, not run."""
    scope = names.of[function].parent
    assert scope is not None
    found = (resolve(d.func if isinstance(d, ast.Call) else d, scope) or "" for d in function.decorator_list)
    return any(name.partition(".")[0] in t.DSL_ROOTS for name in found)


class _Host:
    """One function of the launch path."""

    def __init__(self, function: ast.FunctionDef, names: Names, own: set[str], refuse: Refuse) -> None:
        self.function = function
        self.names = names
        self.own = own
        self.refuse = refuse

    def judge(self) -> None:
        outer = self.names.of[self.function].parent
        assert outer is not None
        skipped: set[ast.AST] = set()
        for node, scope in self.names.walk(self.function, outer):
            if isinstance(node, ast.FunctionDef) and traced(node, self.names):
                skipped.update(ast.walk(node))
            if node not in skipped:
                self._look(node, scope)

    def _look(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._stored(target, value, scope)
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                self._stored(target, None, scope)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._stored(target, None, scope)
            case ast.BinOp(op=ast.MatMult()):
                self.refuse(node, t.TORCH, "multiplies matrices in the launch path")
            case ast.Nonlocal(names=held):
                self.refuse(node, t.CONSTRUCT, f"keeps state between calls: nonlocal {', '.join(held)}")
            case ast.Call(func=ast.Name(id="next")) if scope.find("next") is None:
                self.refuse(node, t.CONSTRUCT, "keeps state between calls: next()")
            case ast.Call(func=ast.Attribute() as func) if resolve(func, scope) is None:
                self._method(node, func, scope)

    def _stored(self, target: ast.AST, value: ast.expr | None, scope: Scope) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._stored(part, None, scope)
            return
        if not isinstance(target, ast.Subscript | ast.Attribute):
            return
        root = root_of(target)
        text = ast.unparse(target)
        if not isinstance(root, ast.Name):
            self.refuse(target, t.TORCH, f"fills {text} in the launch path")
            return
        held = scope.find(root.id)
        if held is None or held.bound[root.id]:
            return  # refused wherever it stands
        if held is self.names.module:
            kept = isinstance(target, ast.Subscript) and self._is_compiled(value, scope)
            if not (kept and self._is_container(root, held)):
                self.refuse(target, t.CONSTRUCT, f"keeps state between calls: {text}")
        elif not self._is_container(root, held) and not (
            isinstance(target, ast.Attribute) and root.id == "self"
        ):
            self.refuse(target, t.TORCH, f"fills {text} in the launch path")

    def _is_container(self, root: ast.Name, held: Scope) -> bool:
        """Every value of the name is a list, dict or set that is made right there."""
        values = held.values.get(root.id, [])
        return bool(values) and all(
            isinstance(v, _LITERALS)
            or (isinstance(v, ast.Call) and (resolve(v.func, held) or "").rpartition(".")[2] in t.CONTAINERS)
            for v in values
        )

    def _is_compiled(self, value: ast.expr | None, scope: Scope) -> bool:
        """The result of cute.compile, at once or by way of a name."""
        if isinstance(value, ast.Name) and (held := scope.find(value.id)) is not None:
            values = held.values.get(value.id, [])
            return bool(values) and all(
                not isinstance(v, ast.Name) and self._is_compiled(v, held) for v in values
            )
        func = value.func if isinstance(value, ast.Call) else None
        func = func.value if isinstance(func, ast.Subscript) else func  # cute.compile[options](…)
        return func is not None and (resolve(func, scope) or "").endswith("cute.compile")

    def _method(self, node: ast.Call, func: ast.Attribute, scope: Scope) -> None:
        root = _start(func)
        if isinstance(root, ast.Call):
            name = resolve(root.func, scope) or ""
            if name.partition(".")[0] in t.DSL_ROOTS:
                return  # from_dlpack(x).mark_layout_dynamic()
        held = scope.find(root.id) if isinstance(root, ast.Name) else None
        if held is self.names.module and func.attr not in (t.READS | self.own):
            self.refuse(node, t.CONSTRUCT, f"keeps state between calls: {ast.unparse(func)}()")
        elif func.attr in _GROWING:
            growing = isinstance(root, ast.Name) and held is not None and self._is_container(root, held)
            made = self.function.name in ("__init__", "__post_init__")  # of an object of its own
            made &= isinstance(root, ast.Name) and root.id == "self"
            own = func.attr in self.own or growing or made
            if not own:
                self.refuse(node, t.CONSTRUCT, f"keeps state between calls: {ast.unparse(func)}()")
        elif func.attr not in t.HOST_METHODS and func.attr not in self.own:
            self.refuse(node, t.TORCH, f"calls .{func.attr}() in the launch path")


def _start(node: ast.expr) -> ast.expr:
    """The first call or name of a chain of methods."""
    while True:
        root = root_of(node)
        if isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute | ast.Subscript):
            inner = root_of(root.func)
            if not isinstance(inner, ast.Name):
                node = root.func
                continue
        return root
