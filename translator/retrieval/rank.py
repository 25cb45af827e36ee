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
_WORTH = 0.4  # of the best score: what has less in common teaches nothing about this kernel
_TOLD = 4  # shared facts, and shared words, that a reason names


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part counts; each part lies between 0 and 1."""

    facts: float = 0.6
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
    """One entry's place, and the parts of its score before weighting, by name."""

    document: Document
    score: float
    parts: tuple[tuple[str, float], ...]


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
    index = Index(usable)
    ranked = rank(query, index, embed=embed, sink=sink)
    chosen = diverse(ranked, most)
    return [Exemplar(r.document.item, r.score, reasons(query, r.document, index)) for r in chosen]


def rank(
    query: Query,
    index: Index,
    weights: Weights | None = None,
    *,
    embed: Embedder | None = None,
    sink: Sink | None = None,
) -> list[Ranked]:
    """Every entry of the index, best first; equal scores in order of family and id."""
    return ordered(parts_of(query, index, embed=embed, sink=sink), index, weights or Weights())


def parts_of(
    query: Query, index: Index, *, embed: Embedder | None = None, sink: Sink | None = None
) -> dict[str, list[float]]:
    """The parts of the score by name, each a number from 0 to 1 for every entry of the index."""
    documents = index.documents
    code = list(dict.fromkeys(code_words(query.text)))
    says = {r.id: r.says for r in table()}
    told = " ".join(says[i] for i in sorted(query.facts.ids))
    asked = {"twin": code, "kernel": code, "said": list(dict.fromkeys([*code, *plain_words(told)]))}
    parts = {"facts": [_facts(query, d, index) for d in documents]}
    for name, words in asked.items():
        field = index.fields[name]
        parts[name] = _relative([field.score(k, words) for k in range(len(documents))])
    parts["dtypes"] = [_dtypes(query, d) for d in documents]
    if embed is not None and documents:
        parts["embedding"] = _embedded(query, documents, embed, sink)
    return parts


def ordered(parts: dict[str, list[float]], index: Index, weights: Weights) -> list[Ranked]:
    """Every entry by its weighted parts."""
    ranked = []
    for k, document in enumerate(index.documents):
        own = tuple((name, round(values[k], 6)) for name, values in parts.items())
        score = round(sum(getattr(weights, name) * value for name, value in own), 6)
        ranked.append(Ranked(document, score, own))
    ranked.sort(key=lambda r: (-r.score, r.document.item.entry.family, r.document.item.entry.id))
    return ranked


def diverse(ranked: Sequence[Ranked], most: int) -> list[Ranked]:
    """At most the best `most`: of kernels of one structure two, while another is nearly as good; none that is
    far from the best."""
    chosen: list[Ranked] = []
    left = [r for r in ranked if r.score > 0 and r.score >= _WORTH * ranked[0].score]
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
        and likeness(c.document.structure(), one.document.structure()) >= ALIKE
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


def _embedded(query: Query, documents: Sequence[Document], embed: Embedder, sink: Sink | None) -> list[float]:
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


def reasons(query: Query, document: Document, index: Index) -> tuple[str, ...]:
    """Why `document` fits: the heaviest shared facts, and the rarest words of its twin that the query has."""
    shared = query.facts.ids & document.facts.ids
    order = [r for r in table() if r.id in shared]
    order.sort(key=lambda r: -index.weights[r.id])
    found = [f"both {r.says}" for r in order[:_TOLD]]
    twins, k = index.fields["twin"], index.documents.index(document)
    words = [w for w in dict.fromkeys(code_words(query.text)) if twins.part(k, w)]
    words = [w for w in words if 2 * twins.holding(w) <= len(twins.documents)]
    words.sort(key=lambda w: -twins.rare(w))
    if words:
        found.append("shares " + ", ".join(words[:_TOLD]))
    return tuple(found)
