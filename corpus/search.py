"""Searching the corpus by words: BM25 over what an entry says of itself and over its CUDA and kernel text."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass

from corpus.catalog import KERNEL, NOTES, TWIN, Item
from corpus.inline import inlined

_K1, _B = 1.2, 0.75
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


def _document(item: Item) -> Counter[str]:
    e = item.entry
    said = words(
        " ".join([e.id, e.family, e.summary, *e.idioms, *e.teaches, *e.dtypes, *e.blocks, *e.lessons])
    )
    source = item.text(KERNEL)
    lines = source.splitlines(keepends=True)
    for place in reversed(inlined(source)):
        del lines[place.start : place.end]
    found = Counter(words("".join(lines)) + words(item.text(TWIN)) + words(item.text(NOTES)))
    for w in said:
        found[w] += _SAID
    return found


def search(query: str, items: list[Item], most: int = 10) -> list[Hit]:
    """The entries that fit best, best first; equal scores in order of family and id."""
    asked = list(dict.fromkeys(words(query)))
    documents = [_document(i) for i in items]
    lengths = [sum(d.values()) for d in documents]
    middle = sum(lengths) / len(lengths) if lengths else 1.0
    hits = []
    for item, document, length in zip(items, documents, lengths, strict=True):
        score, met = 0.0, []
        for word in asked:
            holding = sum(word in d for d in documents)
            if not document[word]:
                continue
            met.append(word)
            rare = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            times = document[word]
            score += rare * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length / middle))
        if met:
            hits.append(Hit(item, round(score, 4), tuple(met)))
    hits.sort(key=lambda h: (-h.score, h.item.entry.family, h.item.entry.id))
    return hits[:most]
