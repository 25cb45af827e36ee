"""Opcodes by what they are for, from their words."""

from __future__ import annotations

from collections.abc import Mapping

_OF_WORD = {
    word: kind
    for kind, words in {
        "memory": "ld ldu st ldmatrix stmatrix cp prefetch prefetchu applypriority discard createpolicy",
        "atomic": "atom red",
        "matrix": "mma wmma wgmma movmatrix",
        "control": "bra brx call ret exit trap brkpt pmevent",
        "sync": "bar barrier membar fence mbarrier griddepcontrol nanosleep setmaxnreg",
        "warp": "shfl vote match redux activemask elect",
        "move": "mov cvt cvta selp slct prmt mapa getctarank isspacep szext",
    }.items()
    for word in words.split()
}
CLASSES = ("integer", "float", *dict.fromkeys(_OF_WORD.values()))


def class_of(op: str) -> str:
    """One of CLASSES. Arithmetic, logic and comparisons go by the type they work on."""
    words = op.split(".")
    if words[0] in _OF_WORD:
        return _OF_WORD[words[0]]
    types = [w for w in words[1:] if w.startswith(("f16", "f32", "f64", "bf16"))]
    return "float" if types else "integer"


def space_of(op: str) -> str:
    """The state space of a memory access; "generic" where the opcode names none."""
    spaces = ("global", "shared", "local", "const", "param")
    return next((s for w in op.split(".")[1:] if (s := w.partition("::")[0]) in spaces), "generic")


def access_bytes(opcodes: Mapping[str, int], family: str, *spaces: str) -> dict[int, int]:
    """Accesses by their width in bytes, of `ld`, `ldu` or `st` to any of the spaces."""
    found: dict[int, int] = {}
    for op, count in opcodes.items():
        words = op.split(".")
        if words[0] == family and space_of(op) in spaces:
            width = int("".join(c for c in words[-1] if c.isdigit())) // 8
            width *= next((int(w[1:]) for w in words if w in ("v2", "v4", "v8")), 1)
            found[width] = found.get(width, 0) + count
    return dict(sorted(found.items()))
