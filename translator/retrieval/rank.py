"""Which entries a kernel can be ported after: facts first, text second, and not three of one structure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from corpus.catalog import Item, retrievable
from corpus.shingles import likeness
from translator.diag.diagnostic import Sink
from translator.retrieval.facts import table
from translator.retrieval.index import Document, Index
from translator.retrieval.read import Query
from translator.retrieval.tokens import code_words, plain_words

# Kernels whose own code shares this much are one structure; two of it teach as much as three.
ALIKE = 0.5
# What stands for a third of one structure must be this good beside it.
_NEAR = 0.5
_TOLD = 4  # shared facts, and shared words, that a reason names


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part counts; each part lies between 0 and 1."""

    facts: float = 0.5
    twin: float = 0.15
    kernel: float = 0.05
    said: float = 0.2
    dtypes: float = 0.02
    embedding: float = 0.2


class EmbeddingError(Exception):
    """Vectors can't be had; the message says why."""


class Embedder(Protocol):
    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, all of one length. Raises EmbeddingError."""
        ...


@dataclass(frozen=True, slots=True)
class Exemplar:
    """An entry to port after, and why in words. `score` is comparable within one ranking only."""

    item: Item
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One entry's place: the parts of its score before weighting, by name, and its reasons."""

    document: Document
    score: float
    parts: tuple[tuple[str, float], ...]
    reasons: tuple[str, ...]


def exemplars(
    query: Query,
    items: Sequence[Item],
    most: int = 3,
    *,
    proven: bool = True,
    embed: Embedder | None = None,
    sink: Sink | None = None,
) -> list[Exemplar]:
    """At most `most` entries to port `query` after, best first; the same each time.

    Only entries that are proven as they are now, unless `proven` is False. With `embed` likeness of meaning
    counts too; where it fails, `sink` gets CP5101 and the ranking goes without.
    """
    usable = retrievable(list(items)) if proven else list(items)
    ranked = rank(query, Index(usable), embed=embed, sink=sink)
    chosen = diverse([r for r in ranked if r.score > 0], most)
    return [Exemplar(r.document.item, r.score, r.reasons) for r in chosen]


def rank(
    query: Query,
    index: Index,
    weights: Weights | None = None,
    *,
    embed: Embedder | None = None,
    sink: Sink | None = None,
) -> list[Ranked]:
    """Every entry of the index, best first; equal scores in order of family and id."""
    weights = weights or Weights()
    documents = index.documents
    code = list(dict.fromkeys(code_words(query.text)))
    says = {r.id: r.says for r in table()}
    prose = list(dict.fromkeys([*code, *plain_words(" ".join(says[i] for i in sorted(query.facts.ids)))]))
    parts = {
        "facts": [_facts(query, d, index) for d in documents],
        "twin": _relative([index.fields["twin"].score(k, code) for k in range(len(documents))]),
        "kernel": _relative([index.fields["kernel"].score(k, code) for k in range(len(documents))]),
        "said": _relative([index.fields["said"].score(k, prose) for k in range(len(documents))]),
        "dtypes": [_dtypes(query, d) for d in documents],
    }
    if embed is not None and documents and weights.embedding:
        parts["embedding"] = _embedded(query, documents, embed, sink)
    ranked = []
    for k, document in enumerate(documents):
        own = tuple((name, round(values[k], 6)) for name, values in parts.items())
        score = round(sum(getattr(weights, name) * value for name, value in own), 6)
        ranked.append(Ranked(document, score, own, _reasons(query, document, index, code, k)))
    ranked.sort(key=lambda r: (-r.score, r.document.item.entry.family, r.document.item.entry.id))
    return ranked


def diverse(ranked: Sequence[Ranked], most: int) -> list[Ranked]:
    """The best `most`, but of kernels of one structure two at most while another is nearly as good."""
    chosen: list[Ranked] = []
    left = list(ranked)
    while left and len(chosen) < most:
        best = left[0]
        if _alike(best, chosen) >= 2:
            other = next((r for r in left if _alike(r, chosen) < 2), None)
            if other is not None and other.score >= _NEAR * best.score:
                best = other
        chosen.append(best)
        left.remove(best)
    return chosen


def _alike(one: Ranked, chosen: Sequence[Ranked]) -> int:
    return sum(
        c.document.item.entry.family == one.document.item.entry.family
        and likeness(c.document.structure, one.document.structure) >= ALIKE
        for c in chosen
    )


def _facts(query: Query, document: Document, index: Index) -> float:
    """Shared facts by weight over what both have (the cosine of the two sets), 0 to 1."""
    mine, other = query.facts.ids, document.facts.ids
    both = math.sqrt(index.weight(mine) * index.weight(other))
    return index.weight(mine & other) / both if both else 0.0


def _dtypes(query: Query, document: Document) -> float:
    mine = set(query.facts.dtypes)
    return len(mine & document.dtypes) / len(mine) if mine else 0.0


def _relative(scores: list[float]) -> list[float]:
    """Scores over the best one."""
    top = max(scores, default=0.0)
    return [s / top if top else 0.0 for s in scores]


def _embedded(
    query: Query, documents: Sequence[Document], embed: Embedder, sink: Sink | None
) -> list[float]:
    """Cosines of the query's vector and each entry's, negative ones as 0; all 0 where there are none."""
    try:
        mine, *others = embed([query.text, *(d.text for d in documents)])
        if len(others) != len(documents) or any(len(o) != len(mine) for o in others):
            raise EmbeddingError("vectors of another number or length than asked for")
    except (EmbeddingError, ValueError) as problem:
        if sink is not None:
            sink.report("CP5101", reason=str(problem))
        return [0.0] * len(documents)
    return [max(0.0, _cosine(mine, o)) for o in others]


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    sizes = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / sizes if sizes else 0.0


def _reasons(query: Query, document: Document, index: Index, code: list[str], k: int) -> tuple[str, ...]:
    """The heaviest shared facts and the rarest shared words, as one line each."""
    shared = query.facts.ids & document.facts.ids
    order = [r for r in table() if r.id in shared]
    order.sort(key=lambda r: -index.weights[r.id])
    reasons = [f"both {r.says}" for r in order[:_TOLD]]
    twin = index.fields["twin"]
    words = sorted((w for w in code if twin.part(k, w) > 0), key=lambda w: -twin.rare(w))
    words = [w for w in words if 2 * sum(w in d for d in twin.documents) <= len(twin.documents)]
    if words:
        reasons.append("shares " + ", ".join(words[:_TOLD]))
    return tuple(reasons)
