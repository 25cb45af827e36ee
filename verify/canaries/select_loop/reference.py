"""The sums, in Python's integers."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]
_FIRST_LOOP = 5  # turns of the first loop whose f is below 0.3


def total(v: int) -> int:
    """Steps of 3 from v down to -v: 100 for each below zero, 1 for each other."""
    return _FIRST_LOOP + sum(100 if d < 0 else 1 for d in range(v, -v, -3))


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    return {"sums": np.array([total(int(v)) for v in np.asarray(args["values"])], np.int32)}
