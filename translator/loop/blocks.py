"""Which building blocks of the corpus fit some words."""

from __future__ import annotations

from collections import Counter

from corpus.bm25 import Bm25
from corpus.search import words
from translator.grounding.blocks import Blocks


def fitting(blocks: Blocks, text: str, most: int) -> list[str]:
    """Names of the blocks that fit best, best first; equal ones in order of name. Only what shares a word."""
    names = blocks.names
    index = Bm25([Counter(words(f"{n} {n} {blocks.summary(n)}")) for n in names])
    asked = list(dict.fromkeys(words(text)))
    scored = sorted((-index.score(k, asked), n) for k, n in enumerate(names))
    return [n for score, n in scored[:most] if score < 0]
