"""5 x 5 correlation with zero padding in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


RADIUS = 2


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    h, w = sizes["height"], sizes["width"]
    padded = np.pad(np.asarray(args["src"], np.float64).reshape(h, w), RADIUS)
    coef = np.asarray(args["c_coef"], np.float64).reshape(2 * RADIUS + 1, 2 * RADIUS + 1)
    dst = np.zeros((h, w), np.float64)
    for j, row in enumerate(coef):
        for i, c in enumerate(row):
            dst += c * padded[j : j + h, i : i + w]
    return {"dst": dst.ravel()}
