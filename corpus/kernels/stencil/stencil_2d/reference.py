"""The weighted sums in float64, weight by weight; outside zeros or the nearest element."""

from __future__ import annotations

import math

import numpy as np

Args = dict[str, np.ndarray | int | float]


def rows_of(flat: np.ndarray, rows: int, columns: int, stride: int) -> np.ndarray:
    """The rows in a flat array, (rows, columns)."""
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (stride * 8, 8))


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, columns, strides = sizes["rows"], sizes["columns"], (int(args["x_stride"]), int(args["out_stride"]))
    weights = np.asarray(args["weights"], np.float64)
    side = math.isqrt(len(weights))
    x = rows_of(np.asarray(args["x"], np.float64), rows, columns, strides[0])
    padded = np.pad(x, side // 2, mode="edge" if sizes["clamped"] else "constant")
    out = np.full((rows - 1) * strides[1] + columns, np.nan)
    with np.errstate(invalid="ignore"):
        rows_of(out, rows, columns, strides[1])[:] = sum(
            w * padded[k // side : k // side + rows, k % side : k % side + columns]
            for k, w in enumerate(weights)
        )
    return {"out": out}
