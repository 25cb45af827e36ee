"""What the installed CuTe DSL offers, by the names that users write. The translator never imports it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from translator.diag.diagnostic import Sink
from translator.grounding import child
from translator.grounding.suggest import Names
from translator.grounding.things import Things

NO_DSL = "CP5205"


@dataclass(frozen=True, slots=True)
class ApiEntry:
    """`name` as users write it, as in `cute.arch.shuffle_sync_bfly`; `kind` is module, class, function,
    property or value; `signature` is what stands behind the name in a call, empty where that is unknown."""

    name: str
    kind: str
    signature: str
    summary: str
    doc: str = ""
    deprecated: str = ""


class Api:
    """The names of one DSL. Names may begin with `cute`, `cutlass` or `cutlass.cute`."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.things = Things(document)
        self.version = self.things.version

    def lookup(self, name: str) -> ApiEntry | None:
        """The entry of a dotted name; an attribute of a class may be one of its instances'. None for what
        does not exist."""
        parts = name.strip().removesuffix("()").split(".")
        at: int | None = self.things.roots.get(parts[0])
        owner: int | None = None
        for k, part in enumerate(parts[1:], 1):
            if at is None:
                return None
            owner = at
            # of a class, what its instances have says more: subclasses write out what it only promises
            instance = self.things.kind(at) == "class" and self.things.member(at, part, True) is not None
            if not instance and not self.things.has(at, part):
                instance = self.things.kind(at) == "class" and self.things.has(at, part, True)
                if not instance:
                    return None
            at = self.things.member(at, part, instance)
            if at is None and k < len(parts) - 1:
                return None
        if parts[:2] == ["cutlass", "cute"]:
            parts = parts[1:]
        if at is None:
            return ApiEntry(self._shown(parts, owner), "value", "", "") if owner is not None else None
        return self._entry(at, self._shown(parts, owner))

    def nearest(self, name: str, most: int = 3) -> tuple[str, ...]:
        """Names that exist and are meant most likely, best first."""
        return self._names.nearest(name, most)

    def entries(self) -> Iterator[ApiEntry]:
        """Every public name once, sorted."""
        for name, at in sorted(self.things.named()):
            yield self._entry(at, name)

    @cached_property
    def _names(self) -> Names:
        return Names(self.things)

    def _shown(self, parts: list[str], owner: int | None) -> str:
        """The shortest name: that of what it is a member of, and its own."""
        held = self.things.name(owner) if owner is not None else ""
        shorter = held and held.count(".") + 1 < len(parts) - 1
        return f"{held}.{parts[-1]}" if shorter else ".".join(parts)

    def _entry(self, at: int, name: str) -> ApiEntry:
        things = self.things
        doc = things.text(at, "d")
        summary = " ".join(doc.partition("\n\n")[0].split())
        own = things.name(at)
        same = own.rpartition(".")[2] == name.rpartition(".")[2] and things.kind(at) != "property"
        shown = own if same and own.count(".") < name.count(".") else name
        return ApiEntry(shown, things.kind(at), things.text(at, "s"), summary, doc, things.text(at, "x"))


def load_api(
    sink: Sink | None = None,
    *,
    seconds: float = child.SECONDS,
    cache: Path | None = None,
    renew: bool = False,
) -> Api | None:
    """The installed DSL's names: from the cache folder, or asked of a child process, which takes a while.

    None where there is no DSL to be read; `sink` then gets CP5205 with the reason.
    """
    try:
        return Api(child.read(seconds, cache, renew))
    except child.NoDslError as e:
        if sink is not None:
            sink.report(NO_DSL, reason=e)
        return None
