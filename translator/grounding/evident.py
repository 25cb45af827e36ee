"""What an expression of a module certainly is: a part of the DSL, a value of one of its classes, a function
of the module. Where it is not certain, nothing is said."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from translator.grounding.scopes import Binding, Function, Scope, Scopes
from translator.grounding.things import Things

# A parameter annotated with one of these holds one; annotations by other classes are often meant loosely
# (a class where a value is said, a constant of Python where a number of the DSL is).
_TRUSTED = frozenset({"Tensor", "TensorSSA"})
# Where one of a family is promised another may be given: classes whose names end so, or are these.
_FAMILIES = (("Pointer",), ("Layout", "ComposedLayout", "Swizzle"))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the DSL. `at` is its place, None where nothing more is known; `bound` says that a call of it
    brings the first argument along."""

    name: str
    at: int | None
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Instance:
    """A value of one of `classes` (places), or of a subclass."""

    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Local:
    """A function of the module."""

    node: Function


@dataclass(frozen=True, slots=True)
class Launcher:
    """What calling a kernel gives."""


Value = Part | Instance | Local | Launcher


class Evident:
    """Reads the expressions of one module."""

    def __init__(self, scopes: Scopes, things: Things) -> None:
        self._scopes = scopes
        self._things = things
        self._known: dict[ast.AST, Value | None] = {}
        self._names: dict[tuple[Scope, str], Value | None] = {}
        self._families: dict[str, tuple[int, ...]] = {}

    def of(self, node: ast.AST | None, scope: Scope) -> Value | None:
        """None where it is not certain."""
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
            return None
        if node not in self._known:
            self._known[node] = None  # what is defined by itself is unknown
            self._known[node] = self._read(node, scope)
        return self._known[node]

    def _read(self, node: ast.Name | ast.Attribute | ast.Call, scope: Scope) -> Value | None:
        if isinstance(node, ast.Name):
            return self._name(node.id, scope)
        if isinstance(node, ast.Attribute):
            return self.attribute(self.of(node.value, scope), node.attr)
        return self._called(self.of(node.func, scope))

    def _name(self, name: str, scope: Scope) -> Value | None:
        held = scope.find(name)
        if held is None or name in self._scopes.shared:
            return None
        key = held, name
        if key not in self._names:
            self._names[key] = None
            found = {self._bound(b, held) for b in held.bound[name]}
            if self._scopes.stars and held is self._scopes.module:
                found.add(None)  # a star import may have bound it too
            self._names[key] = found.pop() if len(found) == 1 else None
        return self._names[key]

    def _bound(self, binding: Binding, scope: Scope) -> Value | None:
        match binding.kind:
            case "import":
                return self.imported(binding.module)
            case "assign":
                return self.of(binding.node, scope)
            case "define":
                assert isinstance(binding.node, Function)
                return Local(binding.node)
            case "parameter":
                return self._annotated(binding.node, scope)
        return None

    def imported(self, full: str) -> Part | None:
        """The part of the DSL with a full name, as in `cutlass.cute.arch`."""
        if full in self._things.modules:
            return Part(full, self._things.modules[full])
        module, _, last = full.rpartition(".")
        at = self._things.modules.get(module)
        if at is None:
            return None
        return Part(full, self._things.member(at, last)) if self._things.has(at, last) else None

    def _annotated(self, node: ast.AST | None, scope: Scope) -> Instance | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):
                return None
        around = scope.parent or scope
        value = self.of(node, around)
        if not isinstance(value, Part) or value.at is None or self._things.kind(value.at) != "class":
            return None
        name = self._things.name(value.at).rpartition(".")[2]
        return Instance((value.at,)) if name in _TRUSTED else None

    def attribute(self, value: Value | None, name: str) -> Value | None:
        """What an attribute is, if it exists and is known."""
        things = self._things
        if isinstance(value, Part) and value.at is not None:
            if not things.has(value.at, name):
                return self.imported(f"{value.name}.{name}")
            at = things.member(value.at, name)
            bound = at is not None and self._takes_class(value.at, name, at)
            if at is not None and things.kind(at) == "property":
                at = None  # of a class: the property itself, or what its metaclass gives
            return Part(f"{value.name}.{name}", at, bound)
        if isinstance(value, Instance):
            found = {things.member(c, name, True) for c in value.classes if things.has(c, name, True)}
            at = found.pop() if len(found) == 1 else None
            if at is None:
                return None
            if things.kind(at) == "property":
                return self._instance(things.gives(at))
            shown = f"{things.name(value.classes[0])}.{name}"
            return Part(shown, at, not things.listed(value.classes[0], name, "st"))
        return None

    def _takes_class(self, owner: int, name: str, at: int) -> bool:
        if self._things.kind(owner) != "class":
            return False
        first = (self._things.parameters(at) or ())[:1]
        return self._things.listed(owner, name, "cm") or bool(first and first[0].name == "cls")

    def _called(self, value: Value | None) -> Value | None:
        if isinstance(value, Local):
            return Launcher() if self.decoration(value.node) == "kernel" else None
        if not isinstance(value, Part) or value.at is None:
            return None
        return self._instance(self._things.gives(value.at))

    def _instance(self, classes: tuple[int, ...]) -> Instance | None:
        for at in classes:
            last = self._things.last(at)
            for family in _FAMILIES:
                if _is_of(last, family):
                    classes = (*classes, *(c for c in self._family(family) if c not in classes))
        return Instance(classes) if classes else None

    def _family(self, family: tuple[str, ...]) -> tuple[int, ...]:
        if family[0] not in self._families:
            found = tuple(c for c in self._things.classes if _is_of(self._things.last(c), family))
            self._families[family[0]] = found
        return self._families[family[0]]

    def decoration(self, node: Function) -> str | None:
        """ "" for a function without decorators, `jit` or `kernel` for one with that alone, else None."""
        if not node.decorator_list:
            return ""
        if len(node.decorator_list) > 1:
            return None
        given = node.decorator_list[0]
        value = self.of(given.func if isinstance(given, ast.Call) else given, self._scopes.module)
        if not isinstance(value, Part) or value.at is None:
            return None
        return {"cute.jit": "jit", "cute.kernel": "kernel"}.get(self._things.name(value.at))


def _is_of(name: str, family: tuple[str, ...]) -> bool:
    return name in family or (len(family) == 1 and name.endswith(family))
