"""The corpus as it is asked: facts of each entry's twin; words of its twin, of its kernel and of itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from corpus.bm25 import Bm25
from corpus.catalog import KERNEL, NOTES, TWIN, Item
from corpus.inline import own_text
from corpus.search import said
from corpus.shingles import shingles
from translator.retrieval.facts import Facts, table
from translator.retrieval.read import twin
from translator.retrieval.tokens import code_words, plain_words

FIELDS = ("twin", "kernel", "said")


@dataclass(frozen=True, slots=True)
class Document:
    """What is known of one entry; `words` are counted, by field."""

    item: Item
    facts: Facts
    dtypes: frozenset[str]
    words: tuple[Counter[str], ...]
    text: str  # of the twin with what the entry says, for an embedding

    def structure(self) -> frozenset[tuple[str, ...]]:
        """The shingles of its kernel's own code."""
        return _structure(self.item.text(KERNEL))


class Index:
    """Entries that are ranked together. Making one reads every twin; a process does that once."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.documents = [_document(i) for i in items]
        self.fields = {name: Bm25([d.words[k] for d in self.documents]) for k, name in enumerate(FIELDS)}
        held = Counter(i for d in self.documents for i in d.facts.ids)
        count = len(self.documents)
        # A fact of every entry tells nothing apart; one that none has still belongs to the query.
        self.weights = {r.id: r.weight * math.log(1 + (count + 1) / (held[r.id] + 1)) for r in table()}

    def weight(self, ids: frozenset[str]) -> float:
        """The weight of several facts together."""
        return sum(self.weights[i] for i in sorted(ids))


def _document(item: Item) -> Document:
    texts = tuple(item.text(n) for n in (TWIN, KERNEL, NOTES))
    words = _words(said(item), *texts)
    facts = twin(item).facts
    dtypes = frozenset(item.entry.dtypes) | frozenset(facts.dtypes)
    return Document(item, facts, dtypes, words, f"{said(item)}\n{texts[0]}")


@lru_cache(maxsize=512)
def _words(own: str, cuda: str, kernel: str, notes: str) -> tuple[Counter[str], ...]:
    port = own_text(kernel)
    return Counter(code_words(cuda)), Counter(code_words(port)), Counter(plain_words(f"{own}\n{notes}"))


@lru_cache(maxsize=512)
def _structure(kernel: str) -> frozenset[tuple[str, ...]]:
    try:
        return shingles(kernel)
    except (SyntaxError, ValueError):  # an entry that is refused anyway
        return frozenset()
