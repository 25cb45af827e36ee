"""Softmax of each row in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    x = np.asarray(args["in"], np.float64).reshape(int(args["rows"]), int(args["width"]))
    x = x * float(np.float32(args["scale"]))
    top = x.max(axis=1, keepdims=True)
    powers = np.exp(x - np.where(np.isneginf(top), 0.0, top))
    total = powers.sum(axis=1, keepdims=True)
    safe = np.where(total == 0.0, 1.0, total)
    log_sums = np.where(total == 0.0, -np.inf, np.where(np.isneginf(top), 0.0, top) + np.log(safe))
    return {"out": (powers / safe).ravel(), "log_sums": log_sums.ravel()}
