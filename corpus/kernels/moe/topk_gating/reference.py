"""Softmax and the largest of each row in float64; the lower index first among equal logits."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    tokens, experts, top_k, stride = (sizes[n] for n in ("tokens", "experts", "top_k", "stride"))
    flat = np.asarray(args["logits"], np.float64)
    logits = np.lib.stride_tricks.as_strided(flat, (tokens, experts), (stride * 8, 8))
    logits = np.where(np.isnan(logits), -np.inf, logits)
    with np.errstate(invalid="ignore"):
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    ids = np.argsort(-logits, axis=1, kind="stable")[:, :top_k]
    weights = np.take_along_axis(shares, ids, axis=1)
    if args["renormalize"]:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return {"topk_ids": ids.ravel().astype(np.float64), "topk_weights": weights.ravel()}
