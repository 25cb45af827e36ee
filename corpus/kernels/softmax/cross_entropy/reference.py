"""Cross-entropy of each row and its log-sum-exp in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, classes, stride = sizes["rows"], sizes["classes"], sizes["x_stride"]
    flat = np.asarray(args["x"], np.float64)
    x = np.lib.stride_tricks.as_strided(flat, (rows, classes), (stride * 8, 8))
    target = np.asarray(args["target"]).astype(np.int64)
    most = np.max(x, axis=1)
    base = np.where(np.isneginf(most), 0.0, most)
    lse = most + np.log(np.sum(np.exp(x - base[:, None]), axis=1))
    counted = target != int(args["ignore_index"])
    hit = x[np.arange(rows), np.where(counted, target, 0)]
    smoothing = float(np.float32(args["smoothing"]))
    loss = lse - hit
    if smoothing > 0:
        loss = (1 - smoothing) * loss + smoothing * (lse - np.mean(x, axis=1))
    return {"loss": np.where(counted, loss, 0.0), "lse": lse}
