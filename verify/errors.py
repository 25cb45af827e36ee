"""How far values are from the right ones, element by element: the largest, and how many are how far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from verify.dtypes import DType

Doubles: TypeAlias = npt.NDArray[np.float64]
BUCKETS = 20  # zero, below 1/2 ulp, below 1, below 2, ..., below 65536, beyond
_LEAST = -1  # binary exponent of what is below 1/2
_TINY = {
    "f64": 2.0**-1022,
    "f16": 2.0**-14,
    "f8e4m3": 2.0**-6,
    "f8e5m2": 2.0**-14,
}  # smallest normal, else f32's
_MOST = float(np.finfo(np.float64).max)  # JSON has no infinity


@dataclass(frozen=True, slots=True)
class Errors:
    """Of one side; `counts` has BUCKETS entries."""

    max_abs: float
    max_rel: float
    max_ulp: float
    counts: tuple[int, ...]

    def plus(self, other: Errors) -> Errors:
        """Of both sets of elements together."""
        return Errors(
            max(self.max_abs, other.max_abs),
            max(self.max_rel, other.max_rel),
            max(self.max_ulp, other.max_ulp),
            tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
        )


def none_of(elements: int) -> Errors:
    """Of so many elements that are all right."""
    return Errors(0.0, 0.0, 0.0, (elements, *[0] * (BUCKETS - 1)))


def ulp(values: Doubles, dtype: DType) -> Doubles:
    """The unit in the last place of each value in its type; below the normal numbers the smallest one's."""
    magnitude = np.maximum(np.abs(values), _TINY.get(dtype.name, 2.0**-126))
    return dtype.eps * np.exp2(np.floor(np.log2(magnitude)))


def top(values: Doubles) -> float:
    """The largest value; at most the largest number there is."""
    return min(float(values.max(initial=0.0)), _MOST)


def errors(
    distance: Doubles, right: Doubles, scale: Doubles, dtype: DType, known: npt.NDArray[Any]
) -> Errors:
    """Of elements `distance` from the `right` values, relative to `scale`; only `known` ones count."""
    units = distance / ulp(right, dtype)
    _, exponent = np.frexp(units)  # units lie in [2^(exponent - 1), 2^exponent)
    bucket = np.clip(exponent, _LEAST, BUCKETS - 1 + _LEAST - 1) + 1 - _LEAST
    bucket = np.where(units == 0, 0, bucket)[known]
    counts = np.bincount(bucket, minlength=BUCKETS)
    return Errors(top(distance), top(distance / scale), top(units), tuple(counts.tolist()))
