"""Dot product in float64, added to what result held."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    a, b = np.asarray(args["a"], np.float64), np.asarray(args["b"], np.float64)
    return {"result": np.asarray(args["result"], np.float64) + np.dot(a, b)}
