"""The product with its bias in float64, from the packed tiles."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    m, n, k = int(args["m"]), int(args["n"]), int(args["k"])
    a = np.asarray(args["a"], np.float64).reshape(m, k)
    across, steps = -(-n // 32), -(-k // 64)
    # columns of tiles, tiles of k, 8 of k, 8 columns, a column, one of k
    tiles = np.asarray(args["packed"], np.float64).reshape(across, steps, 8, 4, 8, 8)
    b = tiles.transpose(1, 2, 5, 0, 3, 4).reshape(steps * 64, across * 32)[:k, :n]
    return {"out": np.maximum(a @ b + np.asarray(args["bias"], np.float64), 0.0).ravel()}
