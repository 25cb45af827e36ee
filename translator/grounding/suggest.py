"""The names that a name which does not exist was meant for: from tables first, then by spelling."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

from translator.grounding.things import Things
from translator.mapping.resolve import helper
from translator.mapping.rule import Rule, load_rules

_TABLE = Path(__file__).parent / "isms.toml"
_DOTTED = re.compile(r"\b(?:cute|cutlass)(?:\.[A-Za-z_]\w*)+")
_LIKE = 0.72  # how much of two last components must agree, of 1
_LIKE_SIBLING = 0.6
_TRIED = 40  # names compared letter by letter


@cache
def isms() -> dict[str, tuple[str, ...]]:
    """Names of CUDA, CUTLASS's C++, Triton, torch and older DSLs, and what they become; keys are the last
    components of a name, or the last two."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return {
        name: tuple(names)
        for group in table.values()
        for name, names in group.items()
        if isinstance(names, list)
    }


def plain(name: str) -> str:
    """A name's letters and digits: `__shfl_xor_sync` and `shflXorSync` are the same."""
    return name.replace("_", "").lower()


def dsl_names(rule: Rule) -> tuple[str, ...]:
    """Names of the DSL in a mapping row's text; if it has none, those in the functions that it inlines."""
    texts = [rule.cute, *(text for _, text in rule.fields)]
    found = [n for text in texts for n in _DOTTED.findall(text)]
    if not found:
        found = [n for h in rule.helpers for n in _DOTTED.findall(helper(h).source)]
        found = [n for n in found if n not in ("cute.jit", "cutlass.Constexpr")]
    return tuple(dict.fromkeys(found))


@cache
def builtins() -> dict[str, tuple[str, ...]]:
    """By the plain name of a CUDA builtin, with and without its `sync`: the DSL's names for it."""
    found: dict[str, dict[str, None]] = {}
    for rule in load_rules():
        if rule.support != "none" and (names := dsl_names(rule)):
            for name in rule.names:
                short = plain(name)
                for key in dict.fromkeys((short, short.removesuffix("sync"))):
                    found.setdefault(key, {}).update(dict.fromkeys(names))
    return {key: tuple(names) for key, names in found.items() if key}


class Names:
    """The DSL's public names, found by what was written instead."""

    def __init__(self, things: Things) -> None:
        self._things = things
        self._asked: dict[str, tuple[str, ...]] = {}

    def nearest(self, name: str, most: int) -> tuple[str, ...]:
        name = name.strip().removesuffix("()").replace("cutlass.cute.", "cute.")
        if name not in self._asked:
            found = dict.fromkeys(n for n in self._candidates(name) if n != name)
            self._asked[name] = tuple(found)[:8]
        return self._asked[name][:most]

    def _candidates(self, name: str) -> Iterator[str]:
        parts = name.split(".")
        last, short = parts[-1], plain(parts[-1])
        for key in (".".join(parts[-2:]), last):
            yield from isms().get(key, ())
        yield from self._same(parts)
        yield from builtins().get(short, ())
        yield from self._siblings(parts)
        yield from self._alike(short)

    def _same(self, parts: list[str]) -> Iterator[str]:
        """The same word elsewhere: the nearer the place, the earlier."""
        parent = parts[:-1]

        def far(name: str) -> tuple[int, int, str]:
            there = name.split(".")[:-1]
            common = next(
                (k for k, (a, b) in enumerate(zip(there, parent, strict=False)) if a != b), len(there)
            )
            return -common, len(there), name

        yield from sorted(self._by_last.get(plain(parts[-1]), ()), key=far)

    def _siblings(self, parts: list[str]) -> Iterator[str]:
        """Names spelt alike where this one was looked for, members of instances included."""
        owner = self._place(parts[:-1])
        if owner is None:
            return
        prefix = self._things.name(owner) or ".".join(parts[:-1])
        members: dict[str, str] = {}
        for instance in (False, True) if self._things.kind(owner) == "class" else (False,):
            for member in self._things.members(owner, instance):
                if not member.startswith("_"):
                    members.setdefault(member.lower(), member)
        for close in difflib.get_close_matches(parts[-1].lower(), list(members), 3, _LIKE_SIBLING):
            yield f"{prefix}.{members[close]}"

    def _alike(self, short: str) -> Iterator[str]:
        mine = _threes(short)
        scores = [
            (len(mine & there) / (len(mine | there) or 1), last) for last, there in self._threes.items()
        ]
        tried = [last for score, last in sorted(scores, key=lambda s: (-s[0], s[1]))[:_TRIED] if score]
        for close in difflib.get_close_matches(short, tried, 4, _LIKE):
            yield from self._by_last[close][:1]

    def _place(self, parts: list[str]) -> int | None:
        at = self._things.roots.get(parts[0]) if parts else None
        for part in parts[1:]:
            at = self._things.member(at, part) if at is not None else None
        return at

    @cached_property
    def _by_last(self) -> dict[str, list[str]]:
        """Public names, members of classes included, by the plain form of their last component."""
        found: dict[str, dict[str, None]] = {}
        for name, at in sorted(self._things.named(), key=lambda n: (n[0].count("."), n[0])):
            found.setdefault(plain(name.rpartition(".")[2]), {})[name] = None
            if self._things.kind(at) in ("module", "class"):
                for member in self._things.members(at):
                    if self._things.member(at, member) is None and not member.startswith("_"):
                        found.setdefault(plain(member), {})[f"{name}.{member}"] = None
        return {key: list(names) for key, names in found.items()}

    @cached_property
    def _threes(self) -> dict[str, frozenset[str]]:
        return {last: _threes(last) for last in self._by_last}


def _threes(text: str) -> frozenset[str]:
    padded = f"^{text}$"
    return frozenset(padded[k : k + 3] for k in range(len(padded) - 2))


def like(word: str, words: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Words spelt like one, best first."""
    bare: dict[str, str] = {}
    for w in words:
        bare.setdefault(plain(w), w)
    return tuple(bare[c] for c in difflib.get_close_matches(plain(word), list(bare), most, 0.55))
