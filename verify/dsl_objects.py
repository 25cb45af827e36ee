"""Objects of the imported CuTe DSL: which are its own, what members they have. Used by `verify.dsl_api`."""

from __future__ import annotations

import ast
import contextlib
import enum
import functools
import inspect
import sys
import types
from collections.abc import Iterator

ROOT = "cutlass"


def of_dsl(home: str) -> bool:
    """Whether a module is the DSL's own, and not one of the compiler's thousands of generated ones."""
    return (home == ROOT or home.startswith(f"{ROOT}.")) and not home.startswith(f"{ROOT}._mlir.")


def ours(thing: object) -> bool:
    if isinstance(thing, types.ModuleType):
        return thing.__name__ == ROOT or thing.__name__.startswith(f"{ROOT}.")
    if isinstance(thing, property):
        return True
    if isinstance(thing, functools.partial):
        return ours(thing.func)
    if isinstance(thing, type) or inspect.isroutine(thing):
        home = getattr(thing, "__module__", None)
        if isinstance(home, str) and home.startswith(f"{ROOT}._mlir."):
            return isinstance(thing, type) and issubclass(thing, enum.Enum)
        return isinstance(home, str) and of_dsl(home)
    return of_dsl(type(thing).__module__) and callable(thing)


def kind(thing: object) -> str:
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


def dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def module_members(module: types.ModuleType) -> Iterator[tuple[str, object]]:
    names = {n for n in dir(module) if not dunder(n)}
    if "__getattr__" in vars(module):  # it makes names up: those that its own text spells
        names |= {n for n in _spelt(module) if not dunder(n)}
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


def names_of(cls: type) -> set[str]:
    """What `dir` says, and what it leaves out: an enumeration's methods."""
    return {*dir(cls), *(name for base in cls.__mro__ for name in vars(base))}


def class_members(cls: type) -> Iterator[tuple[str, object]]:
    for name in sorted({*names_of(cls), *dir(type(cls))}):
        if dunder(name):
            continue
        held = inspect.getattr_static(cls, name, None)
        yield name, held if isinstance(held, property) else plain(held)
    for base in cls.__mro__:
        for name in getattr(base, "__annotations__", {}):
            if not dunder(name) and not hasattr(cls, name):
                yield name, None


def family(cls: type) -> list[type]:
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


def assigned(cls: type) -> tuple[str, ...]:
    home = cls.__module__
    if not of_dsl(home) or home not in sys.modules:
        return ()
    return _assigned_in(home).get(cls.__qualname__, ())


def slots(cls: type) -> tuple[str, ...]:
    held = vars(cls).get("__slots__", ())
    return (held,) if isinstance(held, str) else tuple(held)


def plain(value: object) -> object:
    """The function behind what a class keeps; a static method's is marked, since it takes no self."""
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def definer(cls: type, name: str) -> type:
    return next(c for c in cls.__mro__ if name in vars(c))


def own(cls: type, name: str, base: type) -> bool:
    """Whether a class has a special method of its own, not that of `base`."""
    return definer(cls, name) is not base
