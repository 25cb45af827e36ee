"""The product in whole numbers, its scaling in float64, rounded to the nearest even byte."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    m, n, k = int(args["m"]), int(args["n"]), int(args["k"])
    a = np.asarray(args["a"], np.int64).reshape(m, k) - int(args["zero"])
    b = np.asarray(args["b"], np.int64).reshape(n, k)
    scale = np.outer(np.asarray(args["row_scale"], np.float64), np.asarray(args["col_scale"], np.float64))
    exact = scale * (a @ b.T) + np.asarray(args["bias"], np.float64)
    return {"out": np.clip(np.rint(exact), -128, 127).ravel()}
