"""RMS norm of each head in float64; what lies between tokens stays as it was."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    tokens, head = sizes["tokens"], sizes["head"]
    out = {}
    for name in ("q", "k"):
        made = np.array(args[name], np.float64)
        heads, stride = sizes[f"{name}_heads"], int(args[f"{name}_stride"])
        x = np.lib.stride_tricks.as_strided(made, (tokens, heads, head), (stride * 8, head * 8, 8))
        weight = np.asarray(args[f"{name}_weight"], np.float64) + float(args["weight_bias"])
        mean = np.mean(x * x, axis=2, keepdims=True)
        x[:] = x / np.sqrt(mean + float(np.float32(args["eps"]))) * weight
        out[name] = made
    return out
