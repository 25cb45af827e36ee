"""Shapes to check a kernel with: boundary ones first, then typical, then large, all within a budget."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from translator.analysis.launch_shape import names_in, number

_PRIMES = (10007, 131, 37, 17, 11)  # of the first, second … size
_SMALL = ((1, 3, 33, 17, 5), (1, 5, 7, 3, 9), (1, 2, 33, 65, 3))
_TYPICAL_ELEMENTS, _LARGE_ELEMENTS = 1 << 20, 1 << 26
_TYPICAL_WORK, _LARGE_WORK = 1 << 28, 1 << 33
_BOUNDARY_WORK = 1 << 27
_THREADS, _GRID_YZ, _GRID_X = 1024, 65535, (1 << 31) - 1
_SHARED = 227 * 1024
_SEARCHED = (1, 2, 3, 4, 7, 16, 33, 64, 129, 256, 1000, 4099)  # sizes tried together where growing finds none
_TRIES = 800
_WIDER = 3  # a pitch than the rows
_AT_LEAST_ONE = re.compile(r"max\((.+), 1\)")


@dataclass(frozen=True, slots=True)
class Sized:
    """What the size of a case costs and must respect. Texts are C expressions over the sizes."""

    sizes: tuple[str, ...]
    grid: tuple[str, str, str]
    block: tuple[str, str, str]
    smem: str
    elems: tuple[str, ...]  # of each buffer
    work: tuple[str, ...] = ()  # loop trips per thread
    multiples: Mapping[str, int] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)  # what the source gives; the typical value
    # Sizes that are no less than another one: the host passes both as one, and a pitch that is less than the
    # width of its rows has them overlap. They differ all the same, or nobody would tell one from the other.
    least: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    role: str
    sizes: dict[str, int]


def cases(wanted: Sized) -> list[Case]:
    """Boundary cases, a typical and a large one. One case without sizes if there are none.

    Every expression has a value in every case, and the launch can be made; no case if that can't be had.
    """
    if not wanted.sizes:
        return [Case("only", "typical", {})] if _within(wanted, {}, _LARGE_ELEMENTS, _LARGE_WORK) else []
    tiles = {s: _tile(s, wanted) for s in wanted.sizes}
    found: list[Case] = []
    seen: set[tuple[int, ...]] = set()

    def add(role: str, values: Mapping[str, int], elements: int, work: int) -> None:
        fitted = _fit(wanted, values, elements, work)
        if fitted is None or tuple(fitted.values()) in seen:
            return
        seen.add(tuple(fitted.values()))
        name = role if role != "boundary" else _name(fitted)
        found.append(Case(name, role, fitted))

    for make in _boundaries(wanted, tiles):
        add(
            "boundary", {s: make(k, s) for k, s in enumerate(wanted.sizes)}, _TYPICAL_ELEMENTS, _BOUNDARY_WORK
        )
    add("typical", _grown(wanted, _TYPICAL_ELEMENTS, _TYPICAL_WORK, 3), _TYPICAL_ELEMENTS * 2, _TYPICAL_WORK)
    add("large", _grown(wanted, _LARGE_ELEMENTS, _LARGE_WORK, 0), _LARGE_ELEMENTS, _LARGE_WORK)
    return found or _searched(wanted)


def _searched(wanted: Sized) -> list[Case]:
    """Cases of sizes that fit together by chance: `hi - lo` rows want lo below hi."""
    found: dict[str, dict[str, int]] = {}
    for scale in (1, 8):
        draw = random.Random(1)  # the same cases for the same kernel
        for _ in range(_TRIES):
            sizes = {s: _rounded(draw.choice(_SEARCHED), wanted.multiples.get(s, 1)) for s in wanted.sizes}
            sizes = _raised(wanted, sizes)
            if _within(wanted, sizes, _TYPICAL_ELEMENTS * 2 * scale**3, _TYPICAL_WORK * scale**3):
                found.setdefault(_name(sizes), sizes)
            if len(found) == 6:
                break
        if found:
            break
    ordered = sorted(found, key=lambda n: sum(found[n].values()))
    return [Case(n, "boundary" if n != ordered[-1] else "typical", found[n]) for n in ordered]


def _boundaries(wanted: Sized, tiles: Mapping[str, int]) -> list[Callable[[int, str], int]]:
    def around(shift: int, turn: int) -> Callable[[int, str], int]:
        # neighbours of the tile, each size with another one, so that rows and columns don't look alike
        steps = (shift, shift + turn, shift - turn)
        return lambda k, s: max(1, tiles[s] + steps[k % 3])

    def prime(k: int, s: str) -> int:
        big = _PRIMES[min(k, len(_PRIMES) - 1)]
        return big if tiles[s] > 1 or k == 0 else min(big, 101)

    made: list[Callable[[int, str], int]] = [lambda k, s: 1]
    if len(wanted.sizes) == 1:
        made += [around(-1, 0), around(0, 0), around(1, 0), prime]
    else:
        made += [around(-1, 2), around(0, 0), around(1, 1), prime]
        made.append(lambda k, s: _SMALL[1][k % 5])
    return made


def _tile(size: str, wanted: Sized) -> int:
    """How much of a size one block does: what the grid divides it by, else a default."""
    for text in wanted.grid:
        if size in names_in(text):
            divided = re.search(r"/ (\d+)|ceil_div\([^,]+, (\d+)\)", text)
            return int(divided.group(1) or divided.group(2)) if divided else 3
    return 32


def _grown(wanted: Sized, elements: int, work: int, odd: int) -> dict[str, int]:
    """All sizes doubled together as far as the budget allows, and as far as something is left where one is
    taken from another; `odd` makes the first one uneven."""
    best = _doubled(wanted, elements, work)
    if not _left(wanted, best):  # `n - i` of two that grew together: the one that is taken away stays small
        others = (_doubled(wanted, elements, work, still=s) for s in wanted.sizes)
        best = next((o for o in others if _left(wanted, o)), best)
    first = wanted.sizes[0]
    if odd and best[first] > 64:
        best[first] += odd
        best = _raised(wanted, best)
    if odd:
        own = {s: n for s, n in wanted.fixed.items() if s in best and 0 < n < 1 << 26}
        if own and _within(wanted, {**best, **own}, elements * 4, work * 4):
            best |= own
    return best


def _doubled(wanted: Sized, elements: int, work: int, still: str = "") -> dict[str, int]:
    """Sizes doubled from 1 on within the budget, but for the one that stays."""
    best = dict.fromkeys(wanted.sizes, 1)

    def fits(sizes: dict[str, int]) -> bool:
        return _within(wanted, sizes, elements, work) and (_left(wanted, sizes) or not _left(wanted, best))

    for bits in range(1, 31):
        tried = {
            s: _rounded(1 if s == still else 1 << bits, wanted.multiples.get(s, 1)) for s in wanted.sizes
        }
        if not fits(tried):
            # a size that alone is at its limit (a block, a table in shared memory) stays where it is
            tried = {s: n if fits({**best, s: n}) else best[s] for s, n in tried.items()}
            if tried == best or not fits(tried):
                break
        best = tried
    return best


def _left(wanted: Sized, sizes: Mapping[str, int]) -> bool:
    """Whether each buffer has elements by what it is said to hold, not only as the one of `max(…, 1)`."""
    inner = [found[1] for text in wanted.elems if (found := _AT_LEAST_ONE.fullmatch(text))]
    return all((number(text, sizes) or 0) >= 1 for text in inner)


def _fit(wanted: Sized, values: Mapping[str, int], elements: int, work: int) -> dict[str, int] | None:
    """`values` made multiples where asked, and smaller until memory, work and launch limits hold."""
    sizes = _raised(wanted, {s: _rounded(v, wanted.multiples.get(s, 1)) for s, v in values.items()})
    for _ in range(80):
        if _within(wanted, sizes, elements, work):
            return sizes
        largest = max(sizes, key=lambda s: sizes[s])
        if sizes[largest] <= wanted.multiples.get(largest, 1):
            return None
        step = sizes[largest] // 2 if sizes[largest] > 64 else sizes[largest] - 1
        sizes[largest] = _rounded(max(1, step), wanted.multiples.get(largest, 1), down=True)
        for size, base in wanted.least.items():
            if sizes[size] < sizes[base]:
                sizes[base] = _rounded(sizes[size], wanted.multiples.get(base, 1), down=True)
    return None


def _raised(wanted: Sized, sizes: dict[str, int]) -> dict[str, int]:
    """`sizes` with those that must not be less than another one a little larger than that."""
    for size, base in wanted.least.items():
        if sizes[size] < sizes[base]:
            sizes[size] = _rounded(sizes[base] + _WIDER, wanted.multiples.get(size, 1))
    return sizes


def _rounded(value: int, multiple: int, *, down: bool = False) -> int:
    return max(multiple, value // multiple * multiple if down else -(-value // multiple) * multiple)


def _within(wanted: Sized, sizes: Mapping[str, int], elements: int, work: int) -> bool:
    """Whether everything has a value, the launch can be made, and memory and work are within bounds."""
    for text in wanted.elems:
        count = number(text, sizes)
        # no size changes a constant
        if count is None or count < 0 or (count > elements and names_in(text)):
            return False
    threads = _product([number(t, sizes) for t in wanted.block], _THREADS)
    if threads is None:
        return False
    grid = [number(t, sizes) for t in wanted.grid]
    limits = (_GRID_X, _GRID_YZ, _GRID_YZ)
    if any(g is not None and g > most for g, most in zip(grid, limits, strict=True)):
        return False
    blocks = _product(grid, _GRID_X)
    shared = number(wanted.smem, sizes)
    if blocks is None or shared is None or not 0 <= shared <= _SHARED:
        return False
    trips = max((number(t, sizes) or 1 for t in wanted.work), default=1)
    return blocks * threads * trips <= work or not sizes


def _product(values: Sequence[int | None], most: int) -> int | None:
    """The product of counts of 1 at least; None if one is none, or all together are too many."""
    total = 1
    for v in values:
        if v is None or v < 1:
            return None
        total *= v
    return total if total <= most else None


def _name(sizes: Mapping[str, int]) -> str:
    if len(sizes) == 1:
        ((name, value),) = sizes.items()
        return f"{name}={value}"
    return "x".join(str(v) for v in sizes.values())
