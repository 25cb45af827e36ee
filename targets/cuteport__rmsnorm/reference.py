"""RMSNorm of each row in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    x = np.asarray(args["x"], np.float64).reshape(sizes["rows"], sizes["hidden"])
    weight = np.asarray(args["weight"], np.float64)
    mean_square = np.mean(x * x, axis=1, keepdims=True)
    out = x / np.sqrt(mean_square + float(np.float32(args["eps"]))) * weight
    return {"out": out.ravel()}
