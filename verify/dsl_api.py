"""What the installed CuTe DSL offers, read from itself: `python -P -m verify.dsl_api` prints one JSON document.

Run only as a child: it imports the DSL and every module of it that can be imported. Nothing is called.

    objects   list of what was found; others refer to one by its place in this list
        k  kind: module, class, function, property, value
        n  its name as users write it, the shortest public one; where only internals reach it, q is a class's
        s  signature as text, annotations included; `loc` and `ip`, which users leave out, are left out
        p  parameters, each as `name:kind`, kind being p (positional only), a (either way), v (*args), k
           (keyword only), w (**kwargs), and `=` behind it where there is a default; both are absent where
           the signature can't be told
        r  places of the classes that a call gives (for a property: that reading it gives), if that is certain
        d  first lines of the docstring                  x  what a deprecated one says
        m  members of a module or class by name: places  mx names of those without a place of their own
        i  attributes of a class's instances, those of subclasses included: places    ix the other names
        st, cm  names of a class's static and class methods
        o  true where more names than these may exist, io where an instance may have more
        e  how the import failed
    modules   place of each module by full name
    launch    place of the class whose parameters a kernel's `.launch(…)` takes
"""

from __future__ import annotations

import ast
import contextlib
import enum
import functools
import importlib
import importlib.machinery
import inspect
import json
import os
import pkgutil
import platform
import re
import sys
import textwrap
import types
import typing
import warnings
from collections.abc import Iterator
from importlib import metadata
from typing import Any

FORMAT = 1
ROOT = "cutlass"
DISTRIBUTION = "nvidia-cutlass-dsl"
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_DOC = 700  # characters
_TEXT = 900
_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "p",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "a",
    inspect.Parameter.VAR_POSITIONAL: "v",
    inspect.Parameter.KEYWORD_ONLY: "k",
    inspect.Parameter.VAR_KEYWORD: "w",
}
# Importable, but no part of what kernels are written with: never a name to suggest.
_INTERNAL = ("base_dsl", "cutlass_dsl", "compiler", "impl_utils", "experimental", "jax", "core", "dialects")
_Json = dict[str, Any]


class Reader:
    """Fills `objects`, each object of the DSL once however many names it has."""

    def __init__(self) -> None:
        self.objects: list[_Json] = []
        self.modules: dict[str, int] = {}
        self._places: dict[int, int] = {}
        self._kept: list[object] = []  # an id stands for one object only while that lives
        self._waiting: list[tuple[object, int]] = []
        self._classes: list[tuple[type, int]] = []
        self._held: list[tuple[_Json, list[str], dict[str, list[int | None]]]] = []

    def read(self, names: list[str]) -> None:
        for name in names:
            module, why = _imported(name)
            if module is None:
                self.modules[name] = self._add({"k": "module", "o": True, "e": why})
            else:
                self.modules[name] = self.place(module)
        while self._waiting:
            thing, at = self._waiting.pop()
            self._fill(thing, self.objects[at])
        done = 0
        while done < len(self._classes):
            cls, at = self._classes[done]
            self._instances(cls, self.objects[at])
            done += 1
            while self._waiting:  # what only subclasses have
                thing, at = self._waiting.pop()
                self._fill(thing, self.objects[at])
        self._settle()

    def _add(self, made: _Json) -> int:
        self.objects.append(made)
        return len(self.objects) - 1

    def place(self, thing: object) -> int | None:
        """The place of what belongs to the DSL and is worth an object of its own; None for all else."""
        if not _ours(thing):
            return None
        at = self._places.get(id(thing))
        if at is None:
            at = self._places[id(thing)] = self._add({})
            self._kept.append(thing)
            self._waiting.append((thing, at))
        return at

    def _fill(self, thing: object, made: _Json) -> None:
        made["k"] = _kind(thing)
        _describe(thing, made)
        if isinstance(thing, types.ModuleType):
            generated = not _of_dsl(thing.__name__)
            members = _module_members(thing)
            _put(made, "m", {n: None if generated else self.place(v) for n, v in members})
            return
        if isinstance(thing, type):
            self._class(thing, made)
            made["q"] = thing.__qualname__
            _put(made, "m", {n: self.place(v) for n, v in _class_members(thing)})
            for key, kind in (("st", staticmethod), ("cm", classmethod)):
                names = [n for n in dir(thing) if isinstance(inspect.getattr_static(thing, n, None), kind)]
                if names := [n for n in names if not _dunder(n)]:
                    made[key] = " ".join(names)
            self._classes.append((thing, self._places[id(thing)]))
            return
        target = thing.fget if isinstance(thing, property) else thing
        if made["k"] != "property":
            _signature(thing, made)
        if target is not None:
            self._result(target, made)

    def _class(self, cls: type, made: _Json) -> None:
        # Enumerations are looked up, not made; what is built in C tells nothing certain.
        if not issubclass(cls, enum.Enum):
            _signature(cls, made)
        at = self.place(cls)
        if at is not None and "p" in made and getattr(cls, "__new__", None) is object.__new__:
            made["r"] = [at]
        if type(cls).__getattribute__ is not type.__getattribute__ or hasattr(type(cls), "__getattr__"):
            made["o"] = True

    def _result(self, target: object, made: _Json) -> None:
        found = [self.place(c) for c in _returned(target)]
        if found and None not in found:
            made["r"] = found

    def _instances(self, cls: type, made: _Json) -> None:
        """Attributes that a value annotated with `cls` may have: its own, and those of every subclass."""
        names: set[str] = set()
        held: dict[str, list[int | None]] = {}
        for one in _family(cls):
            if hasattr(one, "__getattr__") or one.__getattribute__ is not object.__getattribute__:
                made["io"] = True
            for base in one.__mro__:
                names.update(getattr(base, "__annotations__", {}), _assigned(base), _slots(base))
            for name in dir(one):
                if not _dunder(name):
                    at = self.place(_plain(inspect.getattr_static(one, name, None)))
                    if at not in held.setdefault(name, []):
                        held[name].append(at)
        self._held.append((made, sorted({*names, *held}), held))

    def _settle(self) -> None:
        """Of a method that subclasses write anew, only what all agree on is certain."""
        for made, names, held in self._held:
            members: dict[str, int | None] = {}
            for name in names:
                ats = [at for at in held.get(name, []) if at is not None]
                same = len({self._taken(at) for at in ats}) == 1 and None not in held[name]
                results = {tuple(self.objects[at]["r"]) for at in ats if "r" in self.objects[at]}
                told = next((at for at in ats if "r" in self.objects[at]), ats[0] if ats else None)
                members[name] = told if same and len(results) <= 1 else None
            _put(made, "i", members)

    def _taken(self, at: int) -> str:
        made = self.objects[at]
        return f"{made['k']} {made.get('p', '?').replace(' loc:k=', '').replace(' ip:k=', '')}"


def _put(made: _Json, key: str, members: dict[str, int | None]) -> None:
    """One string for all names without a place: it is read in a fraction of the time."""
    made[key] = {n: at for n, at in members.items() if at is not None}
    others = " ".join(n for n, at in members.items() if at is None and not n.startswith("__"))
    if others:
        made[f"{key}x"] = others


def _plain(value: object) -> object:
    """The function behind what a class keeps; a static method's is marked, since it takes no self."""
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def _imported(name: str) -> tuple[types.ModuleType | None, str]:
    try:
        return importlib.import_module(name), ""
    except BaseException as e:  # whatever a module does when it lacks something
        if isinstance(e, KeyboardInterrupt):
            raise
        return None, f"{type(e).__name__}: {e}".splitlines()[0][:200]


def _names_on_disk() -> list[str]:
    """Full names of the DSL's modules, those of the compiler's dialects included."""
    root = importlib.import_module(ROOT)
    found = [ROOT]

    def below(path: Any, prefix: str) -> None:
        for info in pkgutil.iter_modules(path, prefix):
            last = info.name.rpartition(".")[2]
            if last.startswith("__") or last == "_mlir_libs":
                continue
            found.append(info.name)
            if info.ispkg:
                spec = importlib.machinery.PathFinder.find_spec(info.name, path)
                if spec is not None and spec.submodule_search_locations is not None:
                    below(list(spec.submodule_search_locations), f"{info.name}.")

    below(list(root.__path__), f"{ROOT}.")
    loaded = [m for m in sys.modules if m.startswith(f"{ROOT}.")]
    return sorted({*found, *loaded})


def _of_dsl(home: str) -> bool:
    """Whether a module is the DSL's own, and not one of the compiler's thousands of generated ones."""
    return (home == ROOT or home.startswith(f"{ROOT}.")) and not home.startswith(f"{ROOT}._mlir.")


def _ours(thing: object) -> bool:
    if isinstance(thing, types.ModuleType):
        return thing.__name__ == ROOT or thing.__name__.startswith(f"{ROOT}.")
    if isinstance(thing, property):
        return True
    if isinstance(thing, functools.partial):
        return _ours(thing.func)
    if isinstance(thing, type) or inspect.isroutine(thing):
        home = getattr(thing, "__module__", None)
        if isinstance(home, str) and home.startswith(f"{ROOT}._mlir."):
            return isinstance(thing, type) and issubclass(thing, enum.Enum)
        return isinstance(home, str) and _of_dsl(home)
    return _of_dsl(type(thing).__module__) and callable(thing)


def _kind(thing: object) -> str:
    if isinstance(thing, types.ModuleType):
        return "module"
    if isinstance(thing, type):
        return "class"
    if isinstance(thing, property):
        return "property"
    function = (
        inspect.isroutine(thing) or isinstance(thing, functools.partial) or hasattr(thing, "__wrapped__")
    )
    return "function" if function else "value"


def _dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _module_members(module: types.ModuleType) -> Iterator[tuple[str, object]]:
    names = {n for n in dir(module) if not _dunder(n)}
    if "__getattr__" in vars(module):  # it makes names up: those that its own text spells
        names |= {n for n in _spelt(module) if not _dunder(n)}
    names |= {n for n in getattr(module, "__all__", ()) if isinstance(n, str)}
    for name in sorted(names):
        try:
            yield name, getattr(module, name)
        except Exception:  # spelt for another purpose
            continue


def _spelt(module: types.ModuleType) -> set[str]:
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return set()
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return {t for t in texts if t.isidentifier()}


def _class_members(cls: type) -> Iterator[tuple[str, object]]:
    for name in sorted({*dir(cls), *dir(type(cls))}):
        if _dunder(name):
            continue
        held = inspect.getattr_static(cls, name, None)
        yield name, held if isinstance(held, property) else _plain(held)
    for base in cls.__mro__:
        for name in getattr(base, "__annotations__", {}):
            if not _dunder(name) and not hasattr(cls, name):
                yield name, None


def _family(cls: type) -> list[type]:
    """The class and all its subclasses."""
    found, waiting = [], [cls]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.append(one)
            with contextlib.suppress(TypeError):
                waiting += one.__subclasses__()
    return found


@functools.cache
def _assigned_in(module: str) -> dict[str, tuple[str, ...]]:
    """By a class's qualified name: attributes that its methods give to self, or to anything else."""
    found: dict[str, tuple[str, ...]] = {}

    def below(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                name = f"{prefix}{child.name}"
                stored = [
                    n.attr
                    for n in ast.walk(child)
                    if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
                ]
                found[name] = (*found.get(name, ()), *dict.fromkeys(stored))
                below(child, f"{name}.")
            elif isinstance(child, ast.FunctionDef):
                below(child, f"{prefix}{child.name}.<locals>.")
            elif isinstance(child, ast.stmt):
                below(child, prefix)

    with contextlib.suppress(OSError, TypeError, SyntaxError):
        below(ast.parse(inspect.getsource(sys.modules[module])), "")
    return found


def _assigned(cls: type) -> tuple[str, ...]:
    home = cls.__module__
    if not _of_dsl(home) or home not in sys.modules:
        return ()
    return _assigned_in(home).get(cls.__qualname__, ())


def _slots(cls: type) -> tuple[str, ...]:
    held = vars(cls).get("__slots__", ())
    return (held,) if isinstance(held, str) else tuple(held)


def _signature(thing: Any, made: _Json) -> None:
    try:
        read = inspect.signature(thing)
        if isinstance(thing, type) and _made_by_init(thing):
            whole = inspect.signature(thing.__init__)
            read = whole.replace(parameters=list(whole.parameters.values())[1:])
    except (ValueError, TypeError):
        return
    parameters = list(read.parameters.values())
    if all(p.kind in _ANY for p in parameters) and (told := _overloads(thing)):
        parameters = told
        read = inspect.Signature(told, return_annotation=read.return_annotation)
    made["p"] = " ".join(
        f"{p.name}:{_KINDS[p.kind]}{'' if p.default is inspect.Parameter.empty else '='}" for p in parameters
    )
    made["s"] = _text(read)


def _made_by_init(cls: type) -> bool:
    """Whether `__init__` says what a class takes, where a base's `__new__` would be shown instead."""
    if type(cls).__call__ is not type.__call__ or not inspect.isfunction(cls.__init__):
        return False
    definer = {n: next(k for k, c in enumerate(cls.__mro__) if n in vars(c)) for n in ("__new__", "__init__")}
    return definer["__init__"] < definer["__new__"] and cls.__new__ is not object.__new__


def _overloads(thing: Any) -> list[inspect.Parameter]:
    """What `(*args, **kwargs)` stands for where overloads say it: any number by place, these by keyword."""
    maker = (vars(thing).get("__new__") or vars(thing).get("__init__")) if isinstance(thing, type) else thing
    found: dict[str, inspect.Parameter] = {}
    for one in typing.get_overloads(_plain(maker)) if maker is not None else ():
        for p in list(inspect.signature(one).parameters.values())[isinstance(thing, type) :]:
            if p.kind in _ANY:
                return []
            default = None if p.default is inspect.Parameter.empty else p.default
            found.setdefault(p.name, p.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default))
    places = inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)
    return [places, *found.values()] if found else []


def _text(read: inspect.Signature) -> str:
    """As Python shows it, with defaults and annotations of the DSL by their short names and no addresses."""
    shown: list[inspect.Parameter] = []
    for p in read.parameters.values():
        if p.name in ("loc", "ip") and p.default is None:
            continue
        default = p.default
        if default is not inspect.Parameter.empty:
            default = _Shown(_short(default))
        note = p.annotation
        note = note if note is inspect.Parameter.empty else _Shown(_noted(note))
        shown.append(p.replace(default=default, annotation=note))
    back = read.return_annotation
    back = back if back is inspect.Signature.empty else _Shown(_noted(back))
    text = str(inspect.Signature(shown, return_annotation=back, __validate_parameters__=False))
    return text if len(text) <= _TEXT else text[:_TEXT] + "…"


class _Shown:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _noted(note: object) -> str:
    text = note if isinstance(note, str) else inspect.formatannotation(note)
    text = re.sub(r"ForwardRef\('(\w+)'\)", r"\1", text)
    text = re.sub(r"(?:\w+\.)+(\w+)", r"\1", text)
    return text if len(text) <= 160 else text[:160] + "…"


def _short(value: object) -> str:
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if value is None or isinstance(value, bool | int | float | str | bytes | tuple | list | dict):
        text = repr(value)
        return text if len(text) <= 60 and " at 0x" not in text else "…"
    return getattr(value, "__qualname__", None) or "…"


def _returned(target: object) -> list[type]:
    """The classes that an annotation of what is given back names, if it names nothing else."""
    function = inspect.unwrap(target) if callable(target) else target
    note = getattr(function, "__annotations__", {}).get("return")
    if isinstance(note, str):
        try:
            note = eval(note, getattr(function, "__globals__", {}))
        except Exception:
            return []
    if typing.get_origin(note) in (typing.Union, types.UnionType):
        parts = list(typing.get_args(note))
    else:
        parts = [note]
    good = all(isinstance(p, type) and _ours(p) for p in parts)
    return [p for p in parts if isinstance(p, type)] if good else []


def _describe(thing: object, made: _Json) -> None:
    doc = getattr(thing, "__doc__", None)
    if isinstance(thing, types.ModuleType | type) or inspect.isroutine(thing) or isinstance(thing, property):
        if isinstance(doc, str) and doc.strip() and doc is not getattr(type(thing), "__doc__", None):
            text = inspect.cleandoc(doc)
            made["d"] = text if len(text) <= _DOC else text[:_DOC].rpartition("\n")[0] + "\n…"
        old = getattr(thing, "__deprecated__", None)
        if isinstance(old, str):
            made["x"] = old
        elif isinstance(doc, str) and ".. deprecated::" in doc:
            made["x"] = " ".join(doc.partition(".. deprecated::")[2].split("\n\n")[0].split())


def _named(reader: Reader) -> None:
    """The shortest public name of each object, breadth first: `cute.…` before `cutlass.…`, except for the
    numeric types, which users take from `cutlass`."""
    objects, cute = reader.objects, reader.modules.get("cutlass.cute")
    starts = [("cute", cute), ("cutlass", reader.modules[ROOT])]
    level = [(name, at) for name, at in starts if at is not None]
    numeric = reader.modules.get("cutlass.base_dsl.typing")
    types_at = set(objects[numeric].get("m", {}).values()) if numeric is not None else set()
    spread: set[int] = set()
    while level:
        following: list[tuple[str, int]] = []
        for name, at in level:
            made = objects[at]
            if (
                name.startswith("cute.")
                and at in types_at
                and name.removeprefix("cute.") in objects[reader.modules[ROOT]].get("m", {})
            ):
                name = f"cutlass.{name.removeprefix('cute.')}"
            made.setdefault("n", name)
            if at in spread or made["k"] not in ("module", "class"):
                continue
            spread.add(at)
            for member, held in made.get("m", {}).items():
                if held is None or member.startswith("_") or member in _INTERNAL:
                    continue
                if held in spread and "n" in objects[held]:
                    continue
                following.append((f"{name}.{member}", held))
        level = following


def document() -> _Json:
    """The whole document. ImportError where the DSL can't be imported."""
    warnings.simplefilter("ignore")
    reader = Reader()
    reader.read(_names_on_disk())
    _named(reader)
    for made in reader.objects:
        if "n" in made:
            made.pop("q", None)
        else:  # internals are checked, never shown
            made.pop("d", None)
            made.pop("s", None)
    for made in reader.objects:
        if any(reader.objects[at].get("e") for at in made.get("m", {}).values()):
            made["o"] = True  # what it takes from a module that can't be imported here is missing
    root = reader.objects[reader.modules[ROOT]]
    return {
        "format": FORMAT,
        "version": metadata.version(DISTRIBUTION),
        "python": platform.python_version(),
        "arch": os.environ.get("CUTE_DSL_ARCH", ""),
        "objects": reader.objects,
        "modules": reader.modules,
        "launch": root["m"].get("LaunchConfig"),
    }


def main() -> int:
    """What modules print while they are imported goes to stderr; stdout has the document alone."""
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    made = json.dumps(document(), separators=(",", ":"))
    with os.fdopen(out, "w", encoding="utf-8") as file:
        file.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
