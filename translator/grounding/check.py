"""Names that a draft uses and that do not exist: a reading of its text, before anything is compiled.

What is not certain is not said: a name that may come from somewhere else, a value whose class is unknown, an
attribute behind `hasattr` or a test of the version are passed by.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from translator.diag.diagnostic import Diagnostic, Span
from translator.grounding.api import Api
from translator.grounding.arguments import complaints, of_function
from translator.grounding.blocks import Blocks, corpus_blocks
from translator.grounding.evident import Evident, Instance, Launcher, Local, Part
from translator.grounding.scopes import Scope, Scopes
from translator.grounding.suggest import isms
from translator.grounding.things import Parameter

What = Literal["attribute", "argument", "import", "block"]
CODES: dict[What, str] = {"attribute": "CP5201", "argument": "CP5202", "import": "CP5203", "block": "CP5204"}
_MOST = 3
_BUILTIN = frozenset(dir(builtins)) | {
    "__file__", "__name__", "__doc__", "__spec__", "__package__", "__loader__", "__path__", "__builtins__",
    "__annotations__", "__class__", "__module__", "__qualname__", "reveal_type", "WindowsError",
}  # fmt: skip
# What a test of the version reads: the names behind it may be those of another version.
_VERSIONED = frozenset({"__version__", "target_version", "CUDA_VERSION", "version", "hasattr"})
# What calling a function of @cute.jit takes besides its own parameters.
_OF_JIT = frozenset({"loc", "ip", "pipeline", "no_cache", "compile_only", "gpu_module_attrs"})
# What `.launch(…)` takes besides the parameters of the class that it fills.
_STREAM = "stream"
# What people import instead of `cutlass.cute`.
_MISTAKEN = frozenset({"cute", "cutedsl", "cute_dsl", "cutlass_dsl", "nvidia_cutlass_dsl"})


@dataclass(frozen=True, slots=True)
class Unknown:
    """A use that can't work, at a 1-based line and column.

    attribute  `name` does not exist in a module or class of the DSL
    argument   a call of `name` that its signature can't take; `detail` says how
    import     what is imported does not exist, or a name of the DSL is used without an import
    block      a function that the module neither defines nor imports
    `nearest` has what exists instead, best first: names, or for an argument keywords as `stride=`.
    """

    name: str
    line: int
    column: int
    what: What
    nearest: tuple[str, ...]
    detail: str = ""


def unknown_names(source: str, api: Api, blocks: Blocks | None = None) -> list[Unknown]:
    """Every certain use of what does not exist, in order of place. SyntaxError for what is no Python.

    `blocks` are by default those of the corpus.
    """
    tree = ast.parse(source)
    found = _Check(tree, api, corpus_blocks() if blocks is None else blocks).found()
    return sorted(dict.fromkeys(found), key=lambda u: (u.line, u.column, u.what, u.name))


def diagnostics(unknown: list[Unknown], path: str = "") -> list[Diagnostic]:
    """The same as coded findings about the file `path`."""
    made = []
    for u in unknown:
        span = Span(path, u.line, u.column)
        args = {"name": u.name, "detail": u.detail}
        hint = f"nearest: {', '.join(u.nearest)}" if u.nearest else ""
        made.append(Diagnostic(CODES[u.what], span, tuple(sorted(args.items())), hint))
    return made


class _Check:
    def __init__(self, tree: ast.Module, api: Api, blocks: Blocks) -> None:
        self._tree = tree
        self._api = api
        self._things = api.things
        self._blocks = blocks
        self._scopes = Scopes(tree)
        self._evident = Evident(self._scopes, self._things)
        self._asked_for = {
            n.args[1].value
            for n in ast.walk(tree)
            if isinstance(n, ast.Call)
            and isinstance(n.func, ast.Name)
            and n.func.id in ("hasattr", "getattr")
            and len(n.args) > 1
            and isinstance(n.args[1], ast.Constant)
        }
        self._guarded = set(self._guards())
        self._annotations = set(self._of_annotations())
        self._roots = {n.value for n in ast.walk(tree) if isinstance(n, ast.Attribute)}

    def found(self) -> Iterator[Unknown]:
        for node, scope in self._scopes.walk(self._tree, self._scopes.module):
            if node in self._guarded:
                continue
            match node:
                case ast.Import() | ast.ImportFrom():
                    yield from self._import(node)
                case ast.Attribute():
                    yield from self._attribute(node, scope)
                case ast.Call():
                    yield from self._call(node, scope)
                case ast.Name(ctx=ast.Load()):
                    yield from self._name(node, scope)

    def _guards(self) -> Iterator[ast.AST]:
        """Everything that only runs if a name exists, or in another version."""
        for node in ast.walk(self._tree):
            bodies: list[ast.stmt] = []
            if isinstance(node, ast.Try) and node.handlers:
                bodies = node.body
            elif isinstance(node, ast.If) and self._versioned(node.test):
                bodies = [*node.body, *node.orelse]
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                bodies = node.body
            for statement in bodies:
                yield from ast.walk(statement)

    @staticmethod
    def _versioned(test: ast.expr) -> bool:
        return any(
            (isinstance(n, ast.Name) and n.id in _VERSIONED)
            or (isinstance(n, ast.Attribute) and n.attr in _VERSIONED)
            for n in ast.walk(test)
        )

    def _of_annotations(self) -> Iterator[ast.AST]:
        """Annotations, which a module may keep from being read."""
        for node in ast.walk(self._tree):
            notes: list[ast.expr | None] = []
            if isinstance(node, ast.arg | ast.AnnAssign):
                notes = [node.annotation]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                notes = [node.returns]
            for note in filter(None, notes):
                yield from ast.walk(note)

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[Unknown]:
        if isinstance(node, ast.Import):
            for a in node.names:
                yield from self._module(a.name, a)
            return
        module = node.module or ""
        if node.level:
            return
        bad = list(self._module(module, node))
        yield from bad
        at = self._things.modules.get(module)
        if bad or at is None or self._things.is_open(at):
            return
        for a in node.names:
            full = f"{module}.{a.name}"
            if a.name != "*" and not self._things.has(at, a.name) and full not in self._things.modules:
                yield self._unknown("import", full, a)

    def _module(self, name: str, node: ast.AST) -> Iterator[Unknown]:
        root, _, rest = name.partition(".")
        if root in _MISTAKEN:
            meant = f"cutlass.cute.{rest}" if rest else "cutlass.cute"
            if meant in self._things.modules:  # else it may be a package of the user's
                yield Unknown(name, *_place(node), "import", (meant,), f"the module is {meant}")
        elif root == "cutlass" and name not in self._things.modules:
            above = name.rpartition(".")[0]
            while above not in self._things.modules:
                above = above.rpartition(".")[0]
            if not self._things.is_open(self._things.modules[above]):
                yield self._unknown("import", name, node)
        elif name.startswith("corpus.blocks.") and name.split(".")[2] not in self._blocks.names:
            near = self._blocks.nearest(name.split(".")[2], _MOST)
            yield Unknown(
                name, *_place(node), "import", near, f"the corpus has no block {name.split('.')[2]}"
            )

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Iterator[Unknown]:
        if node.attr.startswith("__") or node.attr in self._asked_for or not isinstance(node.ctx, ast.Load):
            return
        value = self._evident.of(node.value, scope)
        things = self._things
        if isinstance(value, Part) and value.at is not None:
            full = f"{value.name}.{node.attr}"
            known = things.has(value.at, node.attr) or full in things.modules
            if not known and not things.is_open(value.at):
                yield self._unknown("attribute", full, node)
        elif isinstance(value, Instance):
            known = any(things.has(c, node.attr, True) or things.is_open(c, True) for c in value.classes)
            if not known:
                name = things.name(value.classes[0]) or "value"
                yield self._unknown("attribute", f"{name}.{node.attr}", node)

    def _call(self, node: ast.Call, scope: Scope) -> Iterator[Unknown]:
        value = self._evident.of(node.func, scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "launch":
            before = self._evident.of(node.func.value, scope)
            given = {k.arg for k in node.keywords}
            at = self._things.launch
            if at is not None and (isinstance(before, Launcher) or {"grid", "block"} <= given):
                parameters, shown = self._things.parameters(at), self._things.text(at, "s")
                yield from self._arguments(node, "launch", parameters, shown, frozenset({_STREAM}))
            return
        if isinstance(value, Local):
            if self._evident.decoration(value.node) is not None:
                parameters = of_function(value.node)
                more = _OF_JIT if self._evident.decoration(value.node) else frozenset[str]()
                shown = f"({ast.unparse(value.node.args)})"
                yield from self._arguments(node, value.node.name, parameters, shown, more)
        elif isinstance(value, Part) and value.at is not None:
            parameters = self._things.parameters(value.at)
            if parameters and value.bound and parameters[0].kind in "pa":
                parameters = parameters[1:]
            yield from self._arguments(node, _shown(value.name), parameters, self._things.text(value.at, "s"))

    def _arguments(
        self,
        node: ast.Call,
        name: str,
        parameters: tuple[Parameter, ...] | None,
        signature: str,
        more: frozenset[str] = frozenset(),
    ) -> Iterator[Unknown]:
        for c in complaints(node, parameters, more):
            near = c.nearest or ((f"{name}{signature}",) if signature else ())
            yield Unknown(name, *_place(c.node), "argument", near, c.detail)

    def _name(self, node: ast.Name, scope: Scope) -> Iterator[Unknown]:
        name = node.id
        if self._scopes.stars or name in _BUILTIN or name in self._asked_for or node in self._annotations:
            return
        if scope.find(name) is not None:
            return
        entry = self._blocks.lookup(name)
        if entry is not None and entry.name == name:
            words = f"the corpus has it in block {entry.block}: put that block into the module"
            yield Unknown(name, *_place(node), "block", (f"corpus/blocks/{entry.block}.py",), words)
            return
        if name in self._things.roots:
            near: tuple[str, ...] = ("import cutlass.cute as cute" if name == "cute" else "import cutlass",)
            yield Unknown(name, *_place(node), "import", near, "it is used without an import")
            return
        exact = [n for n in (f"cutlass.{name}", f"cute.{name}") if self._api.lookup(n) is not None]
        words = "the module neither defines nor imports it"
        if exact:
            yield Unknown(name, *_place(node), "import", tuple(exact), words)
            return
        if node in self._roots:  # `tl.program_id`: a module that is not there
            yield Unknown(name, *_place(node), "import", (), words)
            return
        block, known = self._blocks.nearest(name, 2), self._api.nearest(name, _MOST)
        table = isms().get(name)
        near = tuple(dict.fromkeys([*known[:1], *block, *known] if table else [*block, *known]))[:_MOST]
        yield Unknown(name, *_place(node), "block", near, words)

    def _unknown(self, what: What, full: str, node: ast.AST) -> Unknown:
        shown = _shown(full)
        words = (
            f"{shown.rpartition('.')[0]} of CuTe DSL {self._api.version} has no {shown.rpartition('.')[2]}"
        )
        return Unknown(shown, *_place(node), what, self._api.nearest(shown, _MOST), words)


def _shown(full: str) -> str:
    return full.removeprefix("cutlass.") if full.startswith("cutlass.cute.") else full


def _place(node: ast.AST) -> tuple[int, int]:
    """1-based line and column; of an attribute those of its last component."""
    if isinstance(node, ast.Attribute) and node.end_lineno is not None and node.end_col_offset is not None:
        return node.end_lineno, max(1, node.end_col_offset - len(node.attr) + 1)
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1
