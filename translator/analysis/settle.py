"""Cases for a drafted spec, whatever its expressions are: what has no value gets a size of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from translator.analysis.cases import Case, Sized, cases
from translator.analysis.launch_shape import names_in, readable

_ATTEMPTS = ((), ("elems",), ("grid",), ("elems", "grid"), ("elems", "grid", "block", "smem"))
_BLOCK = ("256", "1", "1")


@dataclass(frozen=True, slots=True)
class Settled:
    """`wanted` as it can be had. `fresh` has a line (`grid`, `block`, `smem`, a buffer) per replaced text."""

    wanted: Sized
    cases: list[Case]
    fresh: frozenset[str]


def settle(wanted: Sized, buffers: Sequence[str], taken: Iterable[str]) -> Settled:
    """Cases of `wanted`, whose `elems` are those of `buffers`; `taken` are names that no new size may have.

    Expressions that a spec can't hold are replaced at once, others only where no case satisfies them.
    """
    used = {*taken, *wanted.sizes}
    plain, unreadable = _replaced(wanted, buffers, used, frozenset())
    for parts in _ATTEMPTS:
        tried, fresh = _replaced(plain, buffers, used, frozenset(parts))
        made = cases(tried)
        if made:
            return Settled(tried, made, unreadable | fresh)
    raise AssertionError("a launch of fresh sizes always fits")


def _replaced(
    wanted: Sized, buffers: Sequence[str], used: set[str], parts: frozenset[str]
) -> tuple[Sized, frozenset[str]]:
    """`wanted` with sizes of their own for `parts`, and for what can't be read; and what that was."""
    fresh: set[str] = set()
    sizes = list(wanted.sizes)

    def size(what: str, name: str) -> str:
        fresh.add(what)
        while name in used:
            name += "_"
        if name not in sizes:
            sizes.append(name)
        return name

    elems = tuple(
        size(b, f"{b}_elems") if not readable(t) or ("elems" in parts and names_in(t)) else t
        for b, t in zip(buffers, wanted.elems, strict=True)
    )
    grid = tuple(
        size("grid", f"grid_{a}") if not readable(t) or ("grid" in parts and t != "1") else t
        for a, t in zip("xyz", wanted.grid, strict=True)
    )
    block, smem = wanted.block, wanted.smem
    if not all(map(readable, block)) or "block" in parts:
        block = _BLOCK
        fresh.add("block")
    if not readable(smem) or "smem" in parts:
        smem = "0"
        fresh.add("smem")
    made = replace(
        wanted, sizes=tuple(sizes), elems=elems, grid=(grid[0], grid[1], grid[2]), block=block, smem=smem
    )
    return made, frozenset(fresh)
