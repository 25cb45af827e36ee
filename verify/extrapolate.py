"""The simplest law behind a few counts: a product of sizes, times and plus a constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

_LEAST = 3  # different cases that must agree: two determine the constants, a third can contradict
_FACTORS = 3
Factor = tuple[str, ...]  # a size, or the largest of several


@dataclass(frozen=True, slots=True)
class Law:
    """`times` the product of the factors, `plus` a constant."""

    factors: tuple[Factor, ...]
    times: int
    plus: int

    def at(self, sizes: Mapping[str, int]) -> int:
        return self.times * _product(self.factors, sizes) + self.plus

    def __str__(self) -> str:
        if not self.factors:
            return str(self.plus)
        words = [f[0] if len(f) == 1 else f"max({', '.join(f)})" for f in self.factors]
        text = " * ".join([*([str(self.times)] if self.times != 1 else []), *words])
        return f"{text} {'+' if self.plus > 0 else '-'} {abs(self.plus)}" if self.plus else text


def law(known: Sequence[tuple[Mapping[str, int], int]], wanted: Sequence[Mapping[str, int]]) -> Law | None:
    """The one with the fewest factors that gives each count from its case's sizes. None where there is none,
    where several give different counts for the sizes `wanted`, or where too few cases differ to tell."""
    if len({tuple(sorted(sizes.items())) for sizes, _ in known}) < _LEAST:
        return None
    if len({count for _, count in known}) == 1:
        return Law((), 0, known[0][1])
    names = sorted(set.intersection(*(set(sizes) for sizes, _ in known)))
    single: list[Factor] = [(n,) for n in names]
    for atoms in (single, [*single, *combinations(names, 2)]):
        for count in range(1, _FACTORS + 1):
            fits = [m for chosen in combinations(atoms, count) if (m := _through(chosen, known))]
            if fits:
                said = {tuple(m.at(sizes) for sizes in wanted) for m in fits}
                return fits[0] if len(said) == 1 else None
    return None


def _product(factors: Sequence[Factor], sizes: Mapping[str, int]) -> int:
    return prod(max(sizes[n] for n in f) for f in factors)


def _through(factors: tuple[Factor, ...], known: Sequence[tuple[Mapping[str, int], int]]) -> Law | None:
    points = sorted({(_product(factors, sizes), count) for sizes, count in known})
    (x0, y0), (x1, y1) = points[0], points[-1]
    if len({x for x, _ in points}) < _LEAST or (y1 - y0) % (x1 - x0):
        return None
    times = (y1 - y0) // (x1 - x0)
    found = Law(factors, times, y0 - times * x0)
    return found if times > 0 and all(found.at(sizes) == count for sizes, count in known) else None
