"""GELU (tanh form) of x + bias in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    x = np.asarray(args["x"], np.float64).reshape(sizes["rows"], sizes["cols"])
    v = x + np.asarray(args["bias"], np.float64)
    out = 0.5 * v * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (v + 0.044715 * v**3)))
    return {"out": out.ravel()}
