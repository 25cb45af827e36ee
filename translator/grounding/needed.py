"""The part of the DSL that a prompt should carry: what its texts use, and what they are about to need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from translator.grounding.api import Api, ApiEntry
from translator.grounding.suggest import dsl_names
from translator.mapping.rule import Rule, load_rules

MOST = 60
_DOTTED = re.compile(r"\b(?:cutlass\.cute|cute|cutlass)(?:\.[A-Za-z_]\w*)+")
_FROM = re.compile(r"^[ \t]*from[ \t]+(cutlass[\w.]*)[ \t]+import[ \t]+([^\n(]+|\([^)]*\))", re.MULTILINE)
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def needed(texts: Iterable[str], api: Api, cuda: Iterable[str] = (), most: int = MOST) -> list[ApiEntry]:
    """Entries for the DSL names used in `texts` (drafts, exemplars), and what the mapping tables give for
    the builtins used in the CUDA sources `cuda`; functions, classes and values only.

    At most `most`: what the CUDA source needs first, in order of use, then the most used names of the texts.
    The order is the same for the same texts.
    """
    wanted = list(dict.fromkeys(_for_cuda(cuda)))
    used = Counter(n for text in texts for n in _used(text))
    wanted += sorted((n for n in used if n not in wanted), key=lambda n: (-used[n], n))
    found: dict[str, ApiEntry] = {}
    for name in wanted:
        entry = api.lookup(_existing(name, api))
        if entry is not None and entry.kind != "module":
            found.setdefault(entry.name, entry)
    return list(found.values())[:most]


def _existing(name: str, api: Api) -> str:
    """The longest part of a dotted name that exists: `cute.arch.thread_idx.x` asks for `thread_idx`."""
    while "." in name and api.lookup(name) is None:
        name = name.rpartition(".")[0]
    return name


def _used(text: str) -> Iterator[str]:
    for name in _DOTTED.findall(text):
        yield name.replace("cutlass.cute", "cute")
    words = Counter(_WORD.findall(text))
    for module, names in _FROM.findall(text):
        for part in names.strip("() \n\t").split(","):
            name, _, other = part.strip().partition(" as ")
            if name.isidentifier():
                full = f"{module}.{name}".replace("cutlass.cute", "cute")
                yield from [full] * max(1, words[other.strip() or name] - 1)


def _for_cuda(sources: Iterable[str]) -> Iterator[str]:
    rules: dict[str, list[Rule]] = {}
    for rule in load_rules():
        if rule.support != "none":
            for name in rule.names:
                rules.setdefault(name, []).append(rule)
    for source in sources:
        for word in _WORD.findall(source):
            for rule in rules.get(word, ()):
                yield from dsl_names(rule)
            yield from _LANGUAGE.get(word, ())


_LANGUAGE = {
    "threadIdx": ("cute.arch.thread_idx",),
    "blockIdx": ("cute.arch.block_idx",),
    "__shared__": ("cutlass.utils.SmemAllocator",),
    "warpSize": ("cute.arch.WARP_SIZE",),
}
