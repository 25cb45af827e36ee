"""Dispatch in numpy: experts one after the other, each with its choices in order."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    tokens, hidden, top_k, experts = (sizes[n] for n in ("tokens", "hidden", "top_k", "experts"))
    ids = np.asarray(args["topk_ids"]).astype(np.int64)
    x = np.asarray(args["x"], np.float64)
    slots = np.full(tokens * top_k, -1.0)
    counts, offsets = np.zeros(experts), np.zeros(experts + 1)
    out = np.full((tokens * top_k + experts * (sizes["pad"] - 1), hidden), np.nan)
    for e in range(experts):
        here = sizes["first"] <= e < sizes["first"] + sizes["local"]
        mine = np.flatnonzero(ids == e) if here else np.zeros(0, np.int64)
        start = int(offsets[e])
        end = start + -(-len(mine) // sizes["pad"]) * sizes["pad"]
        counts[e], offsets[e + 1] = len(mine), end
        slots[mine] = start + np.arange(len(mine))
        if sizes["zero"]:
            out[start:end] = 0.0
        for row, choice in enumerate(mine, start):
            token = choice // top_k
            out[row] = x[token * sizes["x_stride"] :][:hidden]
    return {"out": out.ravel(), "counts": counts, "offsets": offsets, "slots": slots}
