"""What is refused anywhere in a port: imports, names, attributes, calls, statements. Codes CP6003, CP6005 to
CP6009; `static_host` adds what holds for the launch path alone."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass

from verify import static_tables as t
from verify.static_calls import judge_call
from verify.static_modules import is_module, judge_import, member
from verify.static_names import Names, Scope, resolve, root_of

_PLAIN = tuple(getattr(ast, name) for name in sorted(t.PLAIN))


@dataclass(frozen=True, slots=True, order=True)
class Offence:
    line: int
    column: int
    code: str
    what: str


class Rules:
    """Reads a whole module; `found` holds every offence. RecursionError for a tree nested too deep."""

    def __init__(self, tree: ast.Module, names: Names) -> None:
        self.tree = tree
        self.names = names
        self.found: list[Offence] = []
        self._allowed: set[ast.AST] = set()  # names and attributes that their parent has judged
        self._own = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        self._called: set[ast.AST] = set()
        self._lenient = False  # within a quoted annotation, where an unknown name is evaluated to an error
        for statement in tree.body:
            self._top(statement)
        self._walk(tree, names.module)
        self._bound()

    def refuse(self, node: ast.AST, code: str, what: str) -> None:
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        if (offence := Offence(line, column, code, what)) not in self.found:
            self.found.append(offence)

    # the module's own statements

    def _top(self, node: ast.stmt) -> None:
        """A module that is imported only defines things."""
        match node:
            case (
                ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef()
            ):
                return
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    parts = target.elts if isinstance(target, ast.Tuple) else [target]
                    if not all(isinstance(p, ast.Name) for p in parts):
                        self.refuse(target, t.EFFECT, "changes something while it is imported")
                    for p in parts:
                        if isinstance(p, ast.Name) and _dunder(p.id) and p.id not in t.DUNDER_MODULE:
                            self.refuse(p, t.CONSTRUCT, f"sets {p.id}")
                if _iterator(node.value):
                    self.refuse(node, t.EFFECT, "keeps state between calls: an iterator of the module")
                self._at_import(node.value, self.names.module)
            case ast.If(test=test) if resolve(test, self.names.module) in ("typing.TYPE_CHECKING",):
                for inner in (*node.body, *node.orelse):
                    self._top(inner)
            case ast.Try() | ast.TryStar():
                return  # refused wherever it stands
            case _:
                self.refuse(node, t.EFFECT, f"runs {_kind(node)} while it is imported")

    def _at_import(self, value: ast.AST | None, scope: Scope) -> None:
        """A value made at import: constants, types, tables of them."""
        if value is None:
            return
        if isinstance(value, ast.Lambda):
            return  # its body runs later
        if isinstance(value, ast.Call):
            name = resolve(value.func, scope) or ""
            root, last = name.partition(".")[0], name.rpartition(".")[2]
            fits = (
                (root in t.DSL_ROOTS and last not in t.DSL_CALLED_LATER)
                or root in ("math", "typing", "typing_extensions")
                or name in t.CALLED_AT_IMPORT
                or name in t.IMPORTABLE_CALLS
                or self._own_class(value.func, scope)
                or (isinstance(value.func, ast.Attribute) and value.func.attr in t.READS)
            )
            if not fits:
                self.refuse(value, t.EFFECT, f"calls {_text(value.func)}() while it is imported")
        elif not isinstance(value, _PLAIN):
            self.refuse(value, t.EFFECT, f"runs {_kind(value)} while it is imported")
        for child in ast.iter_child_nodes(value):
            self._at_import(child, self.names.of.get(value, scope))

    def _own_class(self, func: ast.AST, scope: Scope) -> bool:
        """A class or a simple function of the file's own."""
        if not isinstance(func, ast.Name) or scope.find(func.id) is not self.names.module:
            return False
        return any(isinstance(n, ast.ClassDef) and n.name == func.id for n in self.tree.body)

    # everything

    def _walk(self, node: ast.AST, scope: Scope) -> None:
        for child, at in self.names.walk(node, scope):
            self._look(child, at)

    def _bound(self) -> None:
        """A name that may stand for two things can't be read; one that hides a builtin may stay unbound."""
        for node, scope in self.names.of.items():
            for name in sorted(scope.torn):
                self.refuse(node, t.CONSTRUCT, f"binds {name} to an import and to something else")
            body = node.body if isinstance(node, ast.Module | ast.ClassDef) else []
            sure = {n.name for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
            if scope.is_class or scope is self.names.module:
                for name in sorted(set(scope.bound) - sure):
                    if hasattr(builtins, name) and name not in t.BUILTINS:
                        self.refuse(node, t.CONSTRUCT, f"hides {name}")

    def _look(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                for code, what in judge_import(node):
                    self.refuse(node, code, what)
            case ast.FunctionDef():
                self._function(node, scope)
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                self.refuse(node, t.STREAM, "is asynchronous")
            case ast.ClassDef():
                self._class(node, scope)
            case ast.Try() | ast.TryStar():
                self.refuse(node, t.HANDLER, "handles exceptions: what fails must fail")
            case ast.Global():
                self.refuse(node, t.CONSTRUCT, f"keeps state between calls: global {', '.join(node.names)}")
            case ast.Call():
                self._call(node, scope)
            case ast.Attribute():
                self._attribute(node, scope)
            case ast.Name():
                self._name(node, scope)
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                self._stored(node, scope)
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                self._quoted(annotation, scope)
            case ast.Subscript():
                self._type_named(node)
            case ast.Lambda():
                self._defaults(node.args)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            self._aliases(node.value, scope)

    def _aliases(self, value: ast.expr, scope: Scope) -> None:
        """`Pair = Tuple["A", "B"]`: its strings are evaluated where the alias is used."""
        if isinstance(value, ast.Subscript) and (resolve(value.value, scope) or "").startswith("typing"):
            self._quoted(value, scope)

    def _quoted(self, annotation: ast.expr | None, scope: Scope) -> None:
        """Strings in annotations are code: the DSL evaluates them."""
        if annotation is not None:
            self._type_named(annotation)
        for node in ast.walk(annotation) if annotation is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                try:
                    inner = ast.parse(node.value, mode="eval").body
                except (SyntaxError, ValueError, MemoryError):
                    continue  # nothing can evaluate it either
                holder = ast.Expr(value=inner)
                for part in ast.walk(holder):
                    ast.copy_location(part, node)
                if any(isinstance(p, ast.Call | ast.Lambda | ast.NamedExpr) for p in ast.walk(inner)):
                    self.refuse(node, t.CONSTRUCT, f"has code in a string: {node.value[:60]}")
                self._lenient = True
                self._walk(holder, scope)
                self._lenient = False

    # names and attributes

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Del):
            return
        full = resolve(node, scope)
        if isinstance(node.ctx, ast.Store) or full is None or node in self._allowed:
            return
        if scope.find(node.id) is None:
            if node.id not in t.BUILTINS:
                if not self._lenient or hasattr(builtins, node.id):
                    self.refuse(node, t.CONSTRUCT, f"uses {node.id}")
            elif node.id in ("type", "getattr", "hasattr"):
                self.refuse(node, t.CONSTRUCT, f"hands {node.id} on")
        elif is_module(full):
            self.refuse(node, t.CONSTRUCT, f"hands the module {full} on")
        elif full.endswith(t.ONLY_CALLED) and node not in self._called:
            self.refuse(node, t.CONSTRUCT, f"hands {full} on")

    def _type_named(self, node: ast.AST) -> None:
        """`type` stands for a type here: `type[T]`, `isinstance(x, type)`."""
        self._allowed.update(n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == "type")

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._stored(node, scope)
        if node in self._allowed:
            return
        attr = node.attr
        if attr in t.INTROSPECTION or (_dunder(attr) and attr not in t.DUNDER_READ):
            self.refuse(node, t.CONSTRUCT, f"reads .{attr}")
        full = resolve(node, scope)
        if full is None:
            return
        below: ast.AST = node
        while isinstance(below, ast.Attribute):  # the chain is judged as a whole
            below = below.value
            self._allowed.add(below)
        if isinstance(below, ast.Name) and scope.find(below.id) is None:
            if below.id not in t.BUILTINS:
                self.refuse(below, t.CONSTRUCT, f"uses {below.id}")
        elif is_module(full):
            self.refuse(node, t.CONSTRUCT, f"hands the module {full} on")
        elif full.endswith(t.ONLY_CALLED) and node not in self._called:
            self.refuse(node, t.CONSTRUCT, f"hands {full} on")
        elif (why := member(full)) is not None and why[0] != t.IMPORT:  # the import itself is refused
            self.refuse(node, why[0], f"uses {full}{why[1]}")

    def _stored(self, node: ast.Attribute | ast.Subscript, scope: Scope) -> None:
        """Assignments to what an import brought, or to a function or class of the module."""
        root = root_of(node)
        if not isinstance(root, ast.Name):
            if isinstance(node, ast.Attribute):
                self.refuse(node, t.CONSTRUCT, f"changes {_text(node)}, which is not its own")
            return
        held = scope.find(root.id)
        through = [n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute) and _dunder(n.attr)]
        if held is None or held.bound[root.id] or through:
            self.refuse(node, t.CONSTRUCT, f"changes {_text(node)}, which is not its own")
        elif isinstance(node, ast.Attribute) and (held is self.names.module or root.id == "cls"):
            self.refuse(node, t.CONSTRUCT, f"keeps state between calls: {_text(node)}")

    # calls

    def _call(self, node: ast.Call, scope: Scope) -> None:
        func = node.func.value if isinstance(node.func, ast.Subscript) else node.func  # compile[options](…)
        name = resolve(func, scope)
        if isinstance(func, ast.Attribute):
            attr = func.attr
            inner = func.value.func if isinstance(func.value, ast.Call) else None
            if attr in t.DSL_QUESTIONS and (resolve(inner, scope) or "").endswith("DSL._get_dsl"):
                self._allowed.add(inner)  # type: ignore[arg-type]
            own = isinstance(func.value, ast.Name) and func.value.id in ("self", "cls") and attr in self._own
            if own:
                return
            if attr in t.STREAM_METHODS and name is None:
                self.refuse(node, t.STREAM, f"calls .{attr}()")
            elif name is None and (attr in t.TORCH_METHODS or _in_place(attr)):
                self.refuse(node, t.TORCH, f"calls .{attr}()")
            elif _own_setattr(node):
                self._allowed.add(func)
        if name is None:
            return
        self._called.add(func)
        if name.startswith("typing"):
            self._quoted(node, scope)  # NamedTuple("T", [("a", "…")]): evaluated as annotations are
        if name.startswith("torch.") and name.removeprefix("torch.") not in t.TORCH_CALLS:
            rest = name.removeprefix("torch.")
            self._allowed.update(ast.walk(func))
            self.refuse(node, t.STREAM if rest in t.TORCH_STREAMS else t.TORCH, f"calls {name}()")
        elif isinstance(func, ast.Name) and scope.find(func.id) is None:
            self._builtin_call(node, func, scope)
        else:
            for what in judge_call(name, node, scope):
                self.refuse(node, t.CONSTRUCT, what)

    def _builtin_call(self, node: ast.Call, func: ast.Name, scope: Scope) -> None:
        match func.id:
            case "type":
                self._allowed.add(func)
                if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
                    self.refuse(node, t.CONSTRUCT, "makes a class with type()")
            case "isinstance" | "issubclass" if len(node.args) == 2:
                self._type_named(node.args[1])
            case "getattr" | "hasattr":
                self._allowed.update((func, *node.args[:1]))
                literal = node.args[1] if len(node.args) > 1 else None
                if not isinstance(literal, ast.Constant) or not isinstance(literal.value, str):
                    self.refuse(node, t.CONSTRUCT, f"calls {func.id}() with a name that can't be read here")
                    return
                read = ast.Attribute(value=node.args[0], attr=literal.value, ctx=ast.Load())
                self._attribute(ast.copy_location(read, node), scope)
            case name if name not in t.BUILTINS:
                self._allowed.add(func)
                self.refuse(node, t.CONSTRUCT, f"calls {name}()")

    # definitions

    def _function(self, node: ast.FunctionDef, scope: Scope) -> None:
        if _dunder(node.name) and node.name not in t.DUNDER_DEFINED:
            code = t.HANDLER if node.name in ("__enter__", "__exit__") else t.CONSTRUCT
            self.refuse(node, code, f"defines {node.name}")
        self._decorators(node.decorator_list, scope)
        self._quoted(node.returns, scope)
        self._defaults(node.args)

    def _defaults(self, arguments: ast.arguments) -> None:
        for default in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
            if isinstance(default, ast.List | ast.Dict | ast.Set):
                self.refuse(default, t.CONSTRUCT, "keeps state between calls: a default that can change")

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        self._decorators(node.decorator_list, scope)
        for k in node.keywords:
            if k.arg not in ("total", "frozen"):
                self.refuse(node, t.CONSTRUCT, f"makes a class with {k.arg or '**'}")
        for statement in node.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            for target in targets:
                if isinstance(target, ast.Name) and _dunder(target.id) and target.id not in t.DUNDER_CLASS:
                    self.refuse(target, t.CONSTRUCT, f"defines {target.id}")
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                self._at_import(statement.value, self.names.of[node])
            elif isinstance(statement, ast.For | ast.While | ast.With | ast.If | ast.Raise | ast.AugAssign):
                self.refuse(statement, t.EFFECT, f"runs {_kind(statement)} while it is imported")
            elif isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
                self.refuse(statement, t.EFFECT, f"runs {_text(statement)[:60]} while it is imported")

    def _decorators(self, listed: Iterable[ast.expr], scope: Scope) -> None:
        for d in listed:
            name = resolve(d.func if isinstance(d, ast.Call) else d, scope)
            setter = isinstance(d, ast.Attribute) and d.attr in ("setter", "getter") and name is None
            known = name is not None and (
                name.partition(".")[0] in t.DSL_ROOTS or name in t.DECORATORS or name in t.DECORATOR_BUILTINS
            )
            if not (known or setter):
                self.refuse(d, t.CONSTRUCT, f"decorates with {_text(d)[:60]}")


def _dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def _in_place(attr: str) -> bool:
    """How torch spells what works in place: `add_`, `copy_`."""
    return (
        attr not in t.DSL_METHODS
        and attr.endswith("_")
        and not attr.startswith("_")
        and not attr.endswith("__")
    )


def _own_setattr(call: ast.Call) -> bool:
    """`object.__setattr__(self, …)`, by which a frozen dataclass sets its own fields."""
    first = call.args[0] if call.args else None
    return _text(call.func) == "object.__setattr__" and isinstance(first, ast.Name) and first.id == "self"


def _iterator(value: ast.expr | None) -> bool:
    """A value that gives something else each time."""
    called = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in t.ITERATORS
    return called or isinstance(value, ast.GeneratorExp)


def _kind(node: ast.AST) -> str:
    return f"{'an' if type(node).__name__[0] in 'AEIOU' else 'a'} {type(node).__name__.lower()}"


def _text(node: ast.AST) -> str:
    return ast.unparse(node)
