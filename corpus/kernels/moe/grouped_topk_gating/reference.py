"""Sigmoid scores in float64. The choice is made in float32, as it is defined: there ties are ties."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    tokens, experts, groups, top_k = (sizes[n] for n in ("tokens", "experts", "groups", "top_k"))
    stride = sizes["stride"]
    flat = np.asarray(args["logits"], np.float64)
    logits = np.lib.stride_tricks.as_strided(flat, (tokens, experts), (stride * 8, 8))
    with np.errstate(over="ignore"):
        scores = 1 / (1 + np.exp(-logits))
    choice = scores.astype(np.float32) + np.asarray(args["bias"], np.float32)
    choice = np.where(np.isnan(choice), -np.inf, choice).reshape(tokens, groups, -1)
    of_groups = np.sort(choice, axis=2)[:, :, -2:].sum(axis=2)
    kept = np.argsort(-of_groups, axis=1, kind="stable")[:, : sizes["topk_groups"]]
    allowed = np.zeros((tokens, groups, 1), bool)
    np.put_along_axis(allowed, kept[:, :, None], True, axis=1)
    dropped = np.broadcast_to(~allowed, choice.shape).reshape(tokens, -1)  # after all others, -inf included
    ids = np.lexsort((-choice.reshape(tokens, -1), dropped))[:, :top_k]
    weights = np.take_along_axis(scores, ids, axis=1)
    if args["renormalize"]:
        weights = weights / weights.sum(axis=1, keepdims=True)
    weights = weights * float(np.float32(args["scale"]))
    return {"topk_ids": ids.ravel().astype(np.float64), "topk_weights": weights.ravel()}
