"""Scales of rows in float64, and what their codes stand for before rounding; gaps stay as they were."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def rows_of(flat: np.ndarray, rows: int, hidden: int, stride: int) -> np.ndarray:
    """The rows in a flat array, (rows, hidden)."""
    return np.lib.stride_tricks.as_strided(flat, (rows, hidden), (stride * 8, 8))


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, hidden, largest = sizes["rows"], sizes["hidden"], sizes["largest"]
    x = rows_of(np.asarray(args["x"], np.float64), rows, hidden, sizes["x_stride"])
    most = np.maximum(np.abs(x).max(axis=1), float(np.float32(args["least"])))
    q = np.full((rows - 1) * sizes["q_stride"] + hidden, np.nan)
    rows_of(q, rows, hidden, sizes["q_stride"])[:] = x / most[:, None] * largest
    return {"q": q, "scale": most / largest}
