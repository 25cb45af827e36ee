"""The activation chosen by act, in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


LINEAR, RELU, LEAKY, SIGMOID, SILU, TANH, ELU = range(7)


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    x = np.asarray(args["in_ptr"], np.float64)
    slope = float(np.float32(args["slope"]))
    act = int(args["act"])
    if act == RELU:
        y = np.maximum(x, 0.0)
    elif act == LEAKY:
        y = np.where(x > 0.0, x, slope * x)
    elif act == SIGMOID:
        y = 1.0 / (1.0 + np.exp(-x))
    elif act == SILU:
        y = x / (1.0 + np.exp(-x))
    elif act == TANH:
        y = np.tanh(x)
    elif act == ELU:
        y = np.where(x < 0.0, slope * np.expm1(np.minimum(x, 0.0)), x)
    else:
        y = x.copy()
    return {"out_ptr": y}
