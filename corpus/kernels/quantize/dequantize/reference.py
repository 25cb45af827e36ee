"""Codes times scales in float64; gaps between rows stay as they were."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, hidden, q_stride, out_stride = (sizes[n] for n in ("rows", "hidden", "q_stride", "out_stride"))
    q, scale = np.asarray(args["q"], np.float64), np.asarray(args["scale"], np.float64)
    out = np.full((rows - 1) * out_stride + hidden, np.nan)
    column = np.arange(hidden) // sizes["tile_columns"] * sizes["scale_column"]
    for r in range(rows):
        factors = scale[r // sizes["tile_rows"] * sizes["scale_row"] + column]
        out[r * out_stride : r * out_stride + hidden] = q[r * q_stride : r * q_stride + hidden] * factors
    return {"out": out}
