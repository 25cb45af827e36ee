"""Polynomials with integer coefficients over named sizes: upper bounds of index expressions.

A symbol is a name or a whole expression (`(n + 255) / 256`) that is taken as one unknown. Sizes are at
least 1 wherever two bounds are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

Monomial: TypeAlias = tuple[str, ...]
_NAME = re.compile(r"(?:[^\W\d]|@)[\w.]*|(min|max)\([^()]*\)")
_TERMS = 40  # a bound with more terms than this helps nobody


@dataclass(frozen=True, slots=True)
class Poly:
    """Sorted (monomial, coefficient) pairs; the empty monomial is the constant."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @classmethod
    def of(cls, terms: Mapping[Monomial, int]) -> Poly:
        return cls(tuple(sorted((m, c) for m, c in terms.items() if c)))

    @classmethod
    def const(cls, value: int) -> Poly:
        return cls.of({(): value})

    @classmethod
    def symbol(cls, name: str) -> Poly:
        return cls.of({(name,): 1})

    @property
    def constant(self) -> int | None:
        """The value, if it has no symbol."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and self.terms[0][0] == () else None

    @property
    def symbols(self) -> set[str]:
        return {s for m, _ in self.terms for s in m}

    def __add__(self, other: Poly) -> Poly:
        made = dict(self.terms)
        for m, c in other.terms:
            made[m] = made.get(m, 0) + c
        return Poly.of(made)

    def __neg__(self) -> Poly:
        return Poly(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        made: dict[Monomial, int] = {}
        for a, x in self.terms:
            for b, y in other.terms:
                m = tuple(sorted(a + b))
                made[m] = made.get(m, 0) + x * y
        return Poly.of(made)

    def plus(self, value: int) -> Poly:
        return self + Poly.const(value)

    def times(self, value: int) -> Poly:
        return Poly.of({m: c * value for m, c in self.terms})

    def divide(self, other: Poly) -> Poly | None:
        """`self / other` rounded down, if every term but a remainder smaller than `other` divides."""
        if len(other.terms) != 1:
            return None
        by, scale = other.terms[0]
        if scale <= 0:
            return None
        made: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for m, c in self.terms:
            left = _without(m, by)
            if left is not None and c % scale == 0:
                made[left] = c // scale
            else:
                rest[m] = c
        if not rest:
            return Poly.of(made)
        remainder = Poly.of(rest).constant
        if remainder is None:
            return None
        if by == ():
            return Poly.of(made).plus(remainder // scale)
        # n * w - 1 over w is n - 1, n * w + 0 … is n: the remainder's size is that of one row at most
        return Poly.of(made).plus(-1 if remainder < 0 else 0)

    def covers(self, other: Poly) -> bool:
        """True if `self` is at least `other` for all sizes of at least 1."""
        shifted = _shift(self - other)
        return all(c >= 0 for _, c in shifted.terms)

    def too_big(self) -> bool:
        return len(self.terms) > _TERMS

    def text(self) -> str:
        """C text: `M * K`, `(n + 255) / 256 * 256`."""
        if not self.terms:
            return "0"
        parts: list[str] = []
        ordered = sorted(self.terms, key=lambda t: (t[1] < 0, -len(t[0]), t[0]))
        for m, c in ordered:
            factors = [s if _NAME.fullmatch(s) else f"({s})" for s in (s.lstrip("$") for s in m)]
            if abs(c) != 1 or not m:
                factors.append(str(abs(c)))
            term = " * ".join(factors)
            if parts:
                parts.append(f"{'-' if c < 0 else '+'} {term}")
            else:
                parts.append(f"-{term}" if c < 0 else term)
        return " ".join(parts)


def _without(m: Monomial, by: Monomial) -> Monomial | None:
    left = list(m)
    for s in by:
        if s not in left:
            return None
        left.remove(s)
    return tuple(left)


def _shift(p: Poly) -> Poly:
    """`p` with each symbol s replaced by 1 + s."""
    made: dict[Monomial, int] = {}
    for m, c in p.terms:
        for size in range(len(m) + 1):
            for kept in combinations(m, size):
                made[kept] = made.get(kept, 0) + c
    return Poly.of(made)


def largest(bounds: Iterable[Poly]) -> tuple[Poly, ...]:
    """Those of `bounds` that no other one covers; usually one."""
    kept: list[Poly] = []
    for p in dict.fromkeys(bounds):
        if any(k.covers(p) for k in kept):
            continue
        kept = [k for k in kept if not p.covers(k)] + [p]
    return tuple(kept)
