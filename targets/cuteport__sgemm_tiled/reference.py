"""C = alpha * A @ B + beta * C in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    a = np.asarray(args["A"], np.float64).reshape(m, k)
    b = np.asarray(args["B"], np.float64).reshape(k, n)
    c = np.asarray(args["C"], np.float64).reshape(m, n)
    alpha, beta = float(np.float32(args["alpha"])), float(np.float32(args["beta"]))
    return {"C": (alpha * (a @ b) + beta * c).ravel()}
