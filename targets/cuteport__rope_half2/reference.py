"""Rotation of each (even, odd) pair by its position's angle, in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    tokens, heads, half_dim = sizes["tokens"], sizes["heads"], sizes["half_dim"]
    qk = np.asarray(args["qk"], np.float64).reshape(tokens, heads, half_dim, 2)
    positions = np.asarray(args["positions"], np.int64)
    # one row of the tables per token, the same for all of its heads
    c = np.asarray(args["cos_tab"], np.float64).reshape(-1, half_dim)[positions][:, None, :]
    s = np.asarray(args["sin_tab"], np.float64).reshape(-1, half_dim)[positions][:, None, :]
    even, odd = qk[..., 0], qk[..., 1]
    return {"qk": np.stack([even * c - odd * s, even * s + odd * c], axis=-1).ravel()}
