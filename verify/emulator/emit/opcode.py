"""What the parts of a full opcode say. The whitelist has been asked before: only known parts arrive here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

_SPACES = ("global", "shared", "local", "param", "const")
_ORDERS = {
    "volatile": "ORD_VOLATILE",
    "relaxed": "ORD_RELAXED",
    "mmio": "ORD_RELAXED",
    "acquire": "ORD_ACQUIRE",
    "release": "ORD_RELEASE",
    "acq_rel": "ORD_ACQ_REL",
}
_SCOPES = {"cta": "IN_CTA", "cluster": "IN_CLUSTER"}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


@dataclass(frozen=True, slots=True)
class Parts:
    """`space` is generic where none is written; `order` is empty for weak accesses; `vector` counts items.

    `scope` is that of an ordered or atomic access in the runtime's terms, empty for the device or the system.
    """

    words: tuple[str, ...]
    space: str
    order: str
    vector: int
    type: str
    cluster: bool  # shared::cluster
    scope: str

    def has(self, word: str) -> bool:
        return word in self.words


@lru_cache(maxsize=4096)
def parts(op: str) -> Parts:
    """The parts of a memory or synchronisation opcode."""
    words = tuple(op.replace("::", ":").split("."))
    spaces = [w.split(":")[0] for w in words[1:] if w.split(":")[0] in _SPACES]
    orders = [_ORDERS[w] for w in words[1:] if w in _ORDERS]
    vectors = [_VECTORS[w] for w in words[1:] if w in _VECTORS]
    return Parts(
        words,
        spaces[0] if spaces else "generic",
        orders[0] if orders else "",
        vectors[0] if vectors else 1,
        words[-1],
        "shared:cluster" in words,
        next((f" | {_SCOPES[w]}" for w in words[1:] if w in _SCOPES), ""),
    )
