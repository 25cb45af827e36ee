"""Bags of rows in numpy; gaps between rows stay as they were."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    bags, most, hidden, count = (sizes[n] for n in ("bags", "most", "hidden", "count"))
    stride, mode = int(args["out_stride"]), sizes["mode"]
    flat = np.asarray(args["table"], np.float64)
    table = np.lib.stride_tricks.as_strided(flat, (count, hidden), (int(args["table_stride"]) * 8, 8))
    ids = np.asarray(args["ids"], np.int64).reshape(bags, most)
    weights = np.asarray(args["weights"], np.float64).reshape(bags, most)
    out, uses = np.full((bags, stride), np.nan), np.array(args["uses"], np.float64)
    for b, length in enumerate(np.asarray(args["lengths"], np.int64)):
        inside = [k for k in range(length) if 0 <= ids[b, k] < count]
        w, scale = weights[b, inside], 1.0
        if mode == 1:
            scale = 1 / w.sum() if inside else 0
        if mode == 2:
            scale = 1 / np.sqrt((w * w).sum()) if inside else 0
        out[b, :hidden] = scale * (w @ table[ids[b, inside]])
        np.add.at(uses, ids[b, inside], 1)
    return {"out": out.ravel()[: (bags - 1) * stride + hidden], "uses": uses}
