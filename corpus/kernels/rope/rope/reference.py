"""Rotation of complex numbers in float64; what is no pair stays as it was."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    tokens, head, rotary = sizes["tokens"], sizes["head"], sizes["rotary"]
    table = np.asarray(args["table"], np.float64).reshape(-1, rotary)[np.asarray(args["positions"], np.int64)]
    turn = (table[:, : rotary // 2] + 1j * table[:, rotary // 2 :])[:, None, :]
    out = {}
    for name in ("q", "k"):
        made = np.array(args[name], np.float64)
        heads, stride = sizes[f"{name}_heads"], int(args[f"{name}_stride"])
        x = np.lib.stride_tricks.as_strided(made, (tokens, heads, head), (stride * 8, head * 8, 8))
        if sizes["interleaved"]:
            at = (slice(0, rotary, 2), slice(1, rotary, 2))
        else:
            at = (slice(rotary // 2), slice(rotary // 2, rotary))
        pairs = (x[..., at[0]] + 1j * x[..., at[1]]) * turn
        x[..., at[0]], x[..., at[1]] = pairs.real, pairs.imag
        out[name] = made
    return out
