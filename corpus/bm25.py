"""BM25: how well counted words of documents fit the words of a query. Deterministic, no dependency."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

_K1, _B = 1.2, 0.75


class Bm25:
    """Documents that are asked together; a word is the rarer, the more it counts."""

    def __init__(self, documents: Sequence[Counter[str]]) -> None:
        self.documents = documents
        self._lengths = [sum(d.values()) for d in documents]
        self._middle = (sum(self._lengths) / len(documents) if documents else 1.0) or 1.0
        self._holding = Counter(word for d in documents for word in d if d[word])

    def holding(self, word: str) -> int:
        """How many documents hold a word."""
        return self._holding[word]

    def rare(self, word: str) -> float:
        """The weight of a word, above zero: the logarithm of how few documents hold it."""
        holding = self.holding(word)
        return math.log(1 + (len(self.documents) - holding + 0.5) / (holding + 0.5))

    def score(self, document: int, asked: Iterable[str]) -> float:
        """The fit of one document to distinct words, added up in their order."""
        return sum(self.part(document, word) for word in asked)

    def part(self, document: int, word: str) -> float:
        """What one word adds; 0 where the document does not hold it."""
        times = self.documents[document][word]
        if not times:
            return 0.0
        length = self._lengths[document] / self._middle
        return self.rare(word) * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length))
