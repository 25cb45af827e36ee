"""Weighted sum of each token's rows in float64; what lies between the rows of out stays as it was."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    tokens, top_k, hidden = sizes["tokens"], sizes["top_k"], sizes["hidden"]
    y, residual = (np.asarray(args[name], np.float64) for name in ("y", "residual"))
    slots = np.asarray(args["slots"]).reshape(tokens, top_k)
    weights = np.asarray(args["weights"], np.float64).reshape(tokens, top_k)
    y_stride, out_stride = int(args["y_stride"]), int(args["out_stride"])
    out = np.full((tokens - 1) * out_stride + hidden, np.nan)
    for t in range(tokens):
        row = np.zeros(hidden)
        for slot, weight in zip(slots[t], weights[t], strict=True):
            if slot >= 0:
                row += weight * y[slot * y_stride :][:hidden]
        if args["add_residual"]:
            row += residual[t * out_stride :][:hidden]
        out[t * out_stride :][:hidden] = row
    return {"out": out}
