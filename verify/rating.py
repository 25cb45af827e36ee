"""What two sets of times say about each other: an interval of their ratio, and a word for it.

Two factors bound what is called what. FASTER and SLOWER mean that the times differ by more than DIFFERENT,
SAME that they do not differ by SAME_WITHIN. An interval whose ends are no further apart than NARROW, the
quotient of the two, always fits one of these words: only a measurement that stays wider ends AMBIGUOUS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Rating = Literal["FASTER", "SAME", "SLOWER", "AMBIGUOUS"]
Floats: TypeAlias = npt.NDArray[np.float64]

DIFFERENT = 1.02
SAME_WITHIN = 1.03
NARROW = SAME_WITHIN / DIFFERENT
LEAST_ROUNDS = 16
_RESAMPLES = 1000
_POINTS = 21  # 0 %, 5 %, … 100 %


def ratio_interval(original: Sequence[float], port: Sequence[float]) -> tuple[float, float, float]:
    """median(original) / median(port) and its 95 % bootstrap interval. Equal samples give the same one.

    A round is two samples of each side, taken in the order A B B A. Rounds are drawn, not single samples, so
    that what slows a whole round down weighs on both sides. A surplus of one side is left out.
    """
    o, p = _rounds(original, port)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(o), (_RESAMPLES, len(o)))
    ratios = _medians(o[drawn]) / _medians(p[drawn])
    low, high = np.percentile(ratios, (2.5, 97.5))
    return float(np.median(o) / np.median(p)), float(low), float(high)


def _rounds(original: Sequence[float], port: Sequence[float]) -> tuple[Floats, Floats]:
    count = min(len(original), len(port)) // 2
    o, p = (np.asarray(side[: 2 * count], np.float64).reshape(count, 2) for side in (original, port))
    return o, p


def _medians(drawn: Floats) -> Floats:
    found: Floats = np.median(drawn.reshape(len(drawn), -1), axis=1)
    return found


def rate(samples: int, low: float, high: float) -> Rating:
    """What an interval of original time / port time says, from `samples` of the side that has fewer."""
    if samples < 2 * LEAST_ROUNDS or not math.isfinite(high):
        return "AMBIGUOUS"
    if low > DIFFERENT:
        return "FASTER"
    if high < 1 / DIFFERENT:
        return "SLOWER"
    return "SAME" if low >= 1 / SAME_WITHIN and high <= SAME_WITHIN else "AMBIGUOUS"


def enough(original: Sequence[float], port: Sequence[float]) -> bool:
    """True where sampling may end: the interval is NARROW.

    Its width alone decides. To stop at the first word that fits would favour what chance brings up early.
    """
    if min(len(original), len(port)) < 2 * LEAST_ROUNDS:
        return False
    _, low, high = ratio_interval(original, port)
    return high <= low * NARROW


def quantiles(samples: Sequence[float]) -> list[float]:
    """21 of them, from the least to the largest in steps of 5 %."""
    found: list[float] = np.percentile(samples, np.linspace(0, 100, _POINTS)).tolist()
    return [round(q, 4) for q in found]
