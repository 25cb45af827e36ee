"""Searching the corpus by words: BM25 over what an entry says of itself and over its CUDA and kernel text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from corpus.bm25 import Bm25
from corpus.catalog import KERNEL, NOTES, TWIN, Item
from corpus.inline import own_text

# A word that an entry says of itself counts as often as this many in its text.
_SAID = 6
_WORD = re.compile(r"[a-z][a-z0-9]*|\d+")


@dataclass(frozen=True, slots=True)
class Hit:
    """`words` are those of the query that were found, in its order."""

    item: Item
    score: float
    words: tuple[str, ...]


def words(text: str) -> list[str]:
    """Words in lower case; `__shfl_xor_sync` and `warpReduce` are several."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return [_stem(w) for w in _WORD.findall(apart.lower())]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def said(item: Item) -> str:
    """What an entry says of itself in `entry.toml`, a line each."""
    e = item.entry
    return "\n".join([e.id, e.family, e.summary, *e.idioms, *e.teaches, *e.dtypes, *e.blocks, *e.lessons])


def _document(item: Item) -> Counter[str]:
    return _counted(said(item), *(item.text(name) for name in (KERNEL, TWIN, NOTES)))


@lru_cache(maxsize=512)
def _counted(own: str, kernel: str, twin: str, notes: str) -> Counter[str]:
    found = Counter(words(own_text(kernel)) + words(twin) + words(notes))
    for w in words(own):
        found[w] += _SAID
    return found


def spelt_out(query: str, short: Mapping[str, Sequence[str]]) -> list[str]:
    """The words of a query as people type it: names in capitals whole too, since `RoPE` is one word, and what
    is short for others spelt out."""
    found: list[str] = []
    for typed in query.split():
        low = typed.lower()
        own = [low, _stem(low), *words(typed)] if _WORD.fullmatch(low) else words(typed)
        found += [w for word in own for w in (word, *short.get(word, ()))]
    return found


def search(
    query: str, items: list[Item], most: int = 10, short: Mapping[str, Sequence[str]] | None = None
) -> list[Hit]:
    """The entries that fit best, best first; equal scores in order of family and id. With `short`, what words
    are short for, the query is one that a person typed: an entry of that very name comes first."""
    asked = list(dict.fromkeys(words(query) if short is None else spelt_out(query, short)))
    index = Bm25([_document(i) for i in items])
    hits = []
    for k, item in enumerate(items):
        met = tuple(w for w in asked if index.documents[k][w])
        if met:
            hits.append(Hit(item, round(index.score(k, met), 4), met))
    typed = "" if short is None else re.sub(r"[\W_]", "", query.lower())

    def called(h: Hit) -> bool:
        return h.item.entry.id.replace("_", "") == typed

    hits.sort(key=lambda h: (not called(h), -h.score, h.item.entry.family, h.item.entry.id))
    return hits[:most]
