"""Scales of groups in float64, and what their codes stand for before rounding; gaps stay as they were."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, hidden, group, largest = (sizes[n] for n in ("rows", "hidden", "group", "largest"))
    x_stride, q_stride = sizes["x_stride"], sizes["q_stride"]
    flat, least = np.asarray(args["x"], np.float64), float(np.float32(args["least"]))
    q = np.full((rows - 1) * q_stride + hidden, np.nan)
    groups = -(-hidden // group)
    across, down = int(args["scale_group"]), int(args["scale_row"])
    scale = np.full((rows - 1) * down + (groups - 1) * across + 1, np.nan)
    for r in range(rows):
        for g in range(groups):
            part = slice(g * group, min(hidden, (g + 1) * group))
            x = flat[r * x_stride : r * x_stride + hidden][part]
            most = max(float(np.abs(x).max()), least)
            q[r * q_stride : r * q_stride + hidden][part] = x / most * largest
            scale[r * down + g * across] = most / largest
    return {"q": q, "scale": scale}
