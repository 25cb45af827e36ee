"""The objects of a DSL document: what members they have, what calling them takes and gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Kind = Literal["module", "class", "function", "property", "value"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """`kind` as in the document: p, a, v, k or w."""

    name: str
    kind: str
    default: bool


class Things:
    """Places are positions in the document's list; a place of None is an object of which nothing is known."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._objects: list[dict[str, Any]] = document["objects"]
        self.modules: dict[str, int] = document["modules"]
        self.launch: int | None = document.get("launch")
        self.version = str(document.get("version", ""))
        self._others: dict[tuple[int, str], frozenset[str]] = {}
        self._parameters: dict[int, tuple[Parameter, ...] | None] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def kind(self, at: int) -> Kind:
        kind: Kind = self._objects[at].get("k", "value")
        return kind

    def name(self, at: int) -> str:
        return str(self._objects[at].get("n", ""))

    def last(self, at: int) -> str:
        """The last component of an object's name; of an internal class that of its own."""
        made = self._objects[at]
        return str(made.get("n", made.get("q", ""))).rpartition(".")[2]

    @cached_property
    def classes(self) -> tuple[int, ...]:
        """Places of all classes."""
        return tuple(at for at, made in enumerate(self._objects) if made.get("k") == "class")

    def text(self, at: int, key: Literal["s", "d", "x"]) -> str:
        return str(self._objects[at].get(key, ""))

    def is_open(self, at: int, instance: bool = False) -> bool:
        """Whether it may have more names than are listed: of others than modules and classes nothing is."""
        return bool(self._objects[at].get("io" if instance else "o")) or (
            self._objects[at].get("k") not in ("module", "class")
        )

    def has(self, at: int, name: str, instance: bool = False) -> bool:
        """Whether a name is a member; of an instance, whether a value annotated so may have it."""
        key = "i" if instance else "m"
        return name in self._objects[at].get(key, ()) or name in self._rest(at, key)

    def member(self, at: int, name: str, instance: bool = False) -> int | None:
        """The place of a member, None where it has none of its own."""
        found: int | None = self._objects[at].get("i" if instance else "m", {}).get(name)
        return found

    def members(self, at: int, instance: bool = False) -> Iterator[str]:
        key = "i" if instance else "m"
        yield from self._objects[at].get(key, ())
        yield from sorted(self._rest(at, key))

    def listed(self, at: int, name: str, key: Literal["st", "cm"]) -> bool:
        """Whether a method is static or a class's."""
        return name in str(self._objects[at].get(key, "")).split()

    def gives(self, at: int) -> tuple[int, ...]:
        """The classes that a call (of a property: reading it) gives; empty where that is not certain."""
        return tuple(self._objects[at].get("r", ()))

    def parameters(self, at: int) -> tuple[Parameter, ...] | None:
        """None where they can't be told."""
        if at not in self._parameters:
            text = self._objects[at].get("p")
            self._parameters[at] = None if text is None else tuple(_parameter(p) for p in str(text).split())
        return self._parameters[at]

    def named(self) -> Iterator[tuple[str, int]]:
        """Every object that has a name which users write."""
        for at, made in enumerate(self._objects):
            if "n" in made:
                yield made["n"], at

    def _rest(self, at: int, key: str) -> frozenset[str]:
        held = self._others.get((at, key))
        if held is None:
            held = frozenset(str(self._objects[at].get(f"{key}x", "")).split())
            self._others[(at, key)] = held
        return held

    @cached_property
    def roots(self) -> dict[str, int]:
        """Places of what names begin with: `cute`, `cutlass`."""
        found = {"cutlass": self.modules.get("cutlass"), "cute": self.modules.get("cutlass.cute")}
        return {name: at for name, at in found.items() if at is not None}


def _parameter(text: str) -> Parameter:
    name, _, rest = text.partition(":")
    return Parameter(name, rest[:1], rest.endswith("="))
