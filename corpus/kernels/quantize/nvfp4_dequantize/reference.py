"""Codes by a table, times scales, in float64; gaps between rows stay as they were."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, columns, tiles = (sizes[n] for n in ("rows", "columns", "tiles"))
    q, scale = np.asarray(args["q"]).astype(np.int64), np.asarray(args["scale"], np.float64)
    factor = float(np.asarray(args["factor"]).ravel()[0])
    column = np.arange(columns)
    groups = -(-columns // 16)
    if tiles:
        groups = -(-groups // 4) * 4
        # (row of a tile of tiles, tile along the row, row of 32, one of four 32s, group of four)
        whole = scale.reshape(-1, groups // 4, 32, 4, 4).transpose(0, 3, 2, 1, 4).reshape(-1, groups)
    else:
        whole = scale.reshape(rows, groups)
    out = np.full((rows - 1) * sizes["out_stride"] + columns, np.nan)
    for r in range(rows):
        code = q[r * sizes["q_stride"] + column // 2] >> 4 * (column % 2) & 15
        value = E2M1[code & 7] * np.where(code > 7, -1.0, 1.0)
        start = r * sizes["out_stride"]
        out[start : start + columns] = value * whole[r, column // 16] * factor
    return {"out": out}
