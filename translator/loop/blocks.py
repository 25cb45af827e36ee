"""Which building blocks of the corpus fit a source, by a table, or some words."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from corpus.bm25 import Bm25
from corpus.search import words
from translator.frontend.no_code import COMMENT
from translator.grounding.blocks import Blocks


@cache
def _table() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    read = tomllib.loads(Path(__file__).with_name("blocks.toml").read_text(encoding="utf-8"))
    return tuple((re.compile("|".join(row["when"])), tuple(row["blocks"])) for row in read["row"])


def blocks_for(cuda: str) -> list[str]:
    """Names of the blocks that stand for what `cuda` takes from a library, in the table's order."""
    plain = COMMENT.sub(" ", cuda)
    return list(dict.fromkeys(b for when, names in _table() if when.search(plain) for b in names))


def fitting(blocks: Blocks, text: str, most: int) -> list[str]:
    """Names of the blocks that fit best, best first; equal ones in order of name. Only what shares a word."""
    names = blocks.names
    index = Bm25([Counter(words(f"{n} {n} {blocks.summary(n)}")) for n in names])
    asked = list(dict.fromkeys(words(text)))
    scored = sorted((-index.score(k, asked), n) for k, n in enumerate(names))
    return [n for score, n in scored[:most] if score < 0]
