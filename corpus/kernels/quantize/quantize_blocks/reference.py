"""Scales of blocks in float64, and what their codes stand for before rounding; gaps stay as they were."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def matrix(flat: np.ndarray, rows: int, columns: int, stride: int) -> np.ndarray:
    """The matrix in a flat array."""
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (stride * 8, 8))


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, columns, side, largest = (sizes[n] for n in ("rows", "columns", "side", "largest"))
    least = float(np.float32(args["least"]))
    x = matrix(np.asarray(args["x"], np.float64), rows, columns, sizes["x_stride"])
    q = np.full((rows - 1) * sizes["q_stride"] + columns, np.nan)
    codes = matrix(q, rows, columns, sizes["q_stride"])
    scale = np.empty((-(-rows // side), -(-columns // side)))
    for i, j in np.ndindex(scale.shape):
        block = (slice(i * side, (i + 1) * side), slice(j * side, (j + 1) * side))
        most = max(float(np.abs(x[block]).max()), least)
        codes[block] = x[block] / most * largest
        scale[i, j] = most / largest
    return {"q": q, "scale": scale.ravel()}
