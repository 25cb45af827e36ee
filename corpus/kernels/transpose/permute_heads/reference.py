"""The permute by numpy's transpose; gaps between tokens stay as they were."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    batch, seq, heads, dim = (sizes[n] for n in ("batch", "seq", "heads", "dim"))
    tokens, stride = batch * seq, int(args["stride"])
    x = np.asarray(args["x"], np.float64)
    if sizes["inverse"]:
        out = np.full((tokens, stride), np.nan)
        out[:, : heads * dim] = x.reshape(batch, heads, seq, dim).transpose(0, 2, 1, 3).reshape(tokens, -1)
        return {"out": out.ravel()[: (tokens - 1) * stride + heads * dim]}
    by_token = np.lib.stride_tricks.as_strided(x, (tokens, heads * dim), (stride * 8, 8))
    return {"out": by_token.reshape(batch, seq, heads, dim).transpose(0, 2, 1, 3).ravel()}
