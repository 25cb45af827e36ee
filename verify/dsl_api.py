"""What the installed CuTe DSL offers, as it says itself: `python -P -m verify.dsl_api` prints it in JSON.

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

import enum
import importlib
import importlib.machinery
import inspect
import json
import os
import pkgutil
import platform
import re
import sys
import types
import warnings
from importlib import metadata
from typing import Any

from verify.dsl_objects import (
    ROOT,
    assigned,
    class_members,
    dunder,
    family,
    kind,
    module_members,
    names_of,
    of_dsl,
    ours,
    own,
    plain,
    slots,
)
from verify.dsl_signature import describe, returned, signature

FORMAT = 1
DISTRIBUTION = "nvidia-cutlass-dsl"
_FEW = 20  # members
_NUMERIC = re.compile(r"T?B?Float(\d\w*)?|U?[iI]nt\d+|Boolean|Numeric|Integer")
# Importable, but no part of what kernels are written with: never a name to suggest.
_INTERNAL = (
    "base_dsl",
    "cutlass_dsl",
    "compiler",
    "impl_utils",
    "experimental",
    "jax",
    "core",
    "metadata",
    "torch",
)
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
            at = self.place(module)
            self.modules[name] = self._add({"k": "module", "o": True, "e": why}) if at is None else at
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

    def _add(self, made: _Json) -> int:
        self.objects.append(made)
        return len(self.objects) - 1

    def place(self, thing: object) -> int | None:
        """The place of what belongs to the DSL and is worth an object of its own; None for all else."""
        if not ours(thing):
            return None
        at = self._places.get(id(thing))
        if at is None:
            at = self._places[id(thing)] = self._add({})
            self._kept.append(thing)
            self._waiting.append((thing, at))
        return at

    def _fill(self, thing: object, made: _Json) -> None:
        made["k"] = kind(thing)
        describe(thing, made)
        if isinstance(thing, types.ModuleType):
            generated = not of_dsl(thing.__name__)
            members = module_members(thing)
            _put(made, "m", {n: None if generated else self.place(v) for n, v in members})
            return
        if isinstance(thing, type):
            self._class(thing, made)
            made["q"] = thing.__qualname__
            _put(made, "m", {n: self.place(v) for n, v in class_members(thing)})
            for key, wrapper in (("st", staticmethod), ("cm", classmethod)):
                names = [
                    n
                    for n in sorted(names_of(thing))
                    if isinstance(inspect.getattr_static(thing, n, None), wrapper)
                ]
                if names := [n for n in names if not dunder(n)]:
                    made[key] = " ".join(names)
            self._classes.append((thing, self._places[id(thing)]))
            return
        target = thing.fget if isinstance(thing, property) else thing
        if made["k"] != "property":
            signature(thing, made)
        if target is not None:
            self._result(target, made)

    def _class(self, cls: type, made: _Json) -> None:
        # Enumerations are looked up, not made; what is built in C tells nothing certain.
        if not issubclass(cls, enum.Enum):
            signature(cls, made)
        at = self.place(cls)
        if at is not None and "p" in made and getattr(cls, "__new__", None) is object.__new__:
            made["r"] = [at]
        meta = type(cls)
        fabricated = hasattr(meta, "__getattr__") and not issubclass(cls, enum.Enum)
        if own(meta, "__getattribute__", type) or fabricated:
            made["o"] = True

    def _result(self, target: object, made: _Json) -> None:
        found = [self.place(c) for c in returned(target)]
        if found and None not in found:
            made["r"] = found

    def _instances(self, cls: type, made: _Json) -> None:
        """Attributes that a value annotated with `cls` may have: its own, and those of every subclass."""
        names: set[str] = set()
        held: dict[str, list[int | None]] = {}
        for one in family(cls):
            fabricated = any("__getattr__" in vars(base) for base in one.__mro__)
            if fabricated or own(one, "__getattribute__", object):
                made["io"] = True
            for base in one.__mro__:
                names.update(getattr(base, "__annotations__", {}), assigned(base), slots(base))
            for name in names_of(one):
                if not dunder(name):
                    at = self.place(plain(inspect.getattr_static(one, name, None)))
                    if at not in held.setdefault(name, []):
                        held[name].append(at)
        self._held.append((made, sorted({*names, *held}), held))

    def settle(self) -> None:
        """Of a method that subclasses write anew, what all agree on is certain; its text is the longest."""
        for made, names, held in self._held:
            members: dict[str, int | None] = {}
            for name in names:
                ats = [at for at in held.get(name, []) if at is not None]
                results = {tuple(self.objects[at]["r"]) for at in ats if "r" in self.objects[at]}
                if not ats or None in held[name] or len({self.objects[at]["k"] for at in ats}) > 1:
                    members[name] = None
                elif len({self._taken(at) for at in ats}) == 1 and len(results) <= 1:
                    members[name] = next((at for at in ats if "r" in self.objects[at]), ats[0])
                else:
                    members[name] = self._merged(ats, results, f"{made['n']}.{name}" if "n" in made else "")
            _put(made, "i", members)

    def _merged(self, ats: list[int], results: set[tuple[int, ...]], name: str) -> int:
        made: _Json = {"k": self.objects[ats[0]]["k"]}
        if len(results) == 1:
            made["r"] = list(next(iter(results)))
        if name:
            made["n"] = name
            for key in "sd":
                made[key] = max((self.objects[at].get(key, "") for at in ats), key=len)
        return self._add(made)

    def _taken(self, at: int) -> str:
        made = self.objects[at]
        return f"{made['k']} {made.get('p', '?').replace(' loc:k=', '').replace(' ip:k=', '')}"


def _put(made: _Json, key: str, members: dict[str, int | None]) -> None:
    """One string for all names without a place: it is read in a fraction of the time."""
    made[key] = {n: at for n, at in members.items() if at is not None}
    others = " ".join(n for n, at in members.items() if at is None and not n.startswith("__"))
    if others:
        made[f"{key}x"] = others


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


def _named(reader: Reader) -> None:
    """The shortest public name of each object, breadth first: `cute.…` before `cutlass.…`, except for the
    numeric types, which users take from `cutlass`."""
    objects, cute = reader.objects, reader.modules.get("cutlass.cute")
    starts = [("cute", cute), ("cutlass", reader.modules[ROOT])]
    level = [(name, at) for name, at in starts if at is not None]
    math = reader.modules.get("cutlass.cute.math")
    if math is not None:  # its functions are members of cute too, less plainly
        for member, held in objects[math].get("m", {}).items():
            if not member.startswith("_") and objects[held]["k"] == "function":
                objects[held]["n"] = f"cute.math.{member}"
    root = objects[reader.modules[ROOT]].get("m", {})
    spread: set[int] = set()
    generated = {at for module, at in reader.modules.items() if not of_dsl(module)}
    while level:
        following: list[tuple[str, int]] = []
        for name, at in level:
            made = objects[at]
            last = name.removeprefix("cute.")
            if made["k"] == "class" and _NUMERIC.fullmatch(last) and root.get(last) == at:
                name = f"cutlass.{last}"
            made.setdefault("n", name)
            if at in spread or made["k"] not in ("module", "class"):
                continue
            spread.add(at)
            for member, held in made.get("m", {}).items():
                if held in generated or member.startswith("_") or member in _INTERNAL:
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
    reader.settle()
    for made in reader.objects:
        if "n" in made:
            made.pop("q", None)
        else:  # internals are checked, never shown
            made.pop("d", None)
            made.pop("s", None)
    failed = [name for name, at in reader.modules.items() if "e" in reader.objects[at]]
    for name, at in reader.modules.items():
        if any(f.startswith(f"{name}.") and "." not in f.removeprefix(f"{name}.") for f in failed):
            # A package may take names from a module that lacks something here; a large one hardly does.
            reader.objects[at].setdefault("o", len(reader.objects[at].get("m", {})) < _FEW)
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
