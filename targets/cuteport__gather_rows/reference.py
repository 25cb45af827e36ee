"""Rows of the table by index; a negative index gives zeros."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    table = np.asarray(args["table"], np.float64).reshape(sizes["vocab"], sizes["dim"])
    idx = np.asarray(args["idx"], np.int64)
    out = table[np.maximum(idx, 0)]
    out[idx < 0] = 0.0
    return {"out": out.ravel()}
