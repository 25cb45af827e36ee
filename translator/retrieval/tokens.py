"""Words of CUDA code for BM25: builtins and vector types whole and in parts, names in parts, no C++ noise."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from corpus.search import words

_NAME = re.compile(r"[^\W\d]\w*")
_BUILTIN = re.compile(
    r"__\w+|(?:float|int|uint|half|char|uchar|short|double)[248]\b|\w+(?:Reduce|Scan)|atomic\w+"
)


_Short = dict[str, tuple[str, ...]]  # what a word is short for


@cache
def _table() -> tuple[frozenset[str], _Short, _Short]:
    """Noise, what is short in code, and what is only typed by people."""
    text = files("translator.retrieval").joinpath("words.toml").read_text(encoding="utf-8")
    read = tomllib.loads(text)
    short, typed = ({k: tuple(words(v)) for k, v in read[part].items()} for part in ("short", "typed"))
    return frozenset(w for line in read["noise"]["words"] for w in line.split()), short, typed


def code_words(text: str) -> list[str]:
    """The words of CUDA or kernel text, comments included, in order and with repetitions.

    A builtin such as `__shfl_xor_sync` gives itself and its parts, an abbreviation what it is short for too.
    """
    noise, short, _ = _table()
    found: list[str] = []
    for m in _NAME.finditer(text):
        name = m[0]
        if _BUILTIN.fullmatch(name):
            found.append(name.lower())
        for word in words(name):
            if word in noise or word.isdigit() or len(word) == 1:
                continue
            found.append(word)
            found += short.get(word, ())
    return found


def plain_words(text: str) -> list[str]:
    """Words of prose with what is short for something spelt out."""
    noise, short, _ = _table()
    return [w for word in words(text) if word not in noise for w in (word, *short.get(word, ()))]


def typed_words() -> _Short:
    """What words are short for in a query that a person types."""
    _, short, typed = _table()
    return short | typed
