"""One explicit heat step in float64; the border repeats its nearest cell."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    u = np.asarray(args["u"], np.float64).reshape(sizes["ny"], sizes["nx"])
    p = np.pad(u, 1, mode="edge")
    laplacian = p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1] - 4.0 * u
    return {"u_new": (u + float(np.float32(args["k"])) * laplacian).ravel()}
