"""Rows at their slots in float64, divided by the scale where the cache holds codes; other slots stay."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    tokens, heads, dim, size = (sizes[n] for n in ("tokens", "heads", "dim", "block_size"))
    slots = np.asarray(args["slots"], np.int64)[:tokens]
    kept = slots >= 0
    block, offset = slots[kept] // size, slots[kept] % size
    out = {}
    for name, scale in (("key", "k_scale"), ("value", "v_scale")):
        made = np.array(args[f"{name}_cache"], np.float64)
        rows = np.lib.stride_tricks.as_strided(
            np.asarray(args[name], np.float64),
            (tokens, heads, dim),
            (int(args[f"{name}_stride"]) * 8, dim * 8, 8),
        )[kept]
        if sizes["codes"]:
            rows = np.clip(rows / float(np.asarray(args[scale], np.float64)[0]), -448, 448)
        blocks, step = len(made) // int(args["block_stride"]), int(args["block_stride"]) * 8
        if sizes["heads_first"]:
            shape, strides = (blocks, heads, size, dim), (step, size * dim * 8, dim * 8, 8)
            np.lib.stride_tricks.as_strided(made, shape, strides)[block, :, offset] = rows
        else:
            shape, strides = (blocks, size, heads, dim), (step, heads * dim * 8, dim * 8, 8)
            np.lib.stride_tricks.as_strided(made, shape, strides)[block, offset] = rows
        out[f"{name}_cache"] = made
    return out
