"""Attention of each head in float64, from the whole matrix of scores."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    heads, queries, keys = sizes["grid_y"], int(args["queries"]), int(args["keys"])
    q = np.asarray(args["q"], np.float64).reshape(heads, queries, 64)
    k = np.asarray(args["k"], np.float64).reshape(heads, keys, 64)
    v = np.asarray(args["v"], np.float64).reshape(heads, keys, 64)
    scores = q @ k.transpose(0, 2, 1) * float(np.float32(args["scale"]))
    if args["causal"]:
        hidden = np.arange(keys)[None, :] > np.arange(queries)[:, None] + keys - queries
        scores = np.where(hidden, -np.inf, scores)
    top = scores.max(axis=2, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
    total = weights.sum(axis=2, keepdims=True)
    empty = total == 0.0
    o = weights @ v / np.where(empty, 1.0, total)
    log_sums = np.where(empty, -np.inf, np.where(empty, 0.0, top) + np.log(np.where(empty, 1.0, total)))
    return {"o": o.ravel(), "log_sums": log_sums.ravel()}
