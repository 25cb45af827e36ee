"""Rotation of complex numbers, then rows at their slots, in float64; what is neither stays as it was."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    tokens, head, rotary, size = (sizes[n] for n in ("tokens", "head", "rotary", "block_size"))
    heads = sizes["kv_heads"]
    table = np.asarray(args["table"], np.float64).reshape(-1, rotary)[np.asarray(args["positions"], np.int64)]
    turn = (table[:, : rotary // 2] + 1j * table[:, rotary // 2 :])[:, None, :]
    if sizes["interleaved"]:
        at = (slice(0, rotary, 2), slice(1, rotary, 2))
    else:
        at = (slice(rotary // 2), slice(rotary // 2, rotary))

    def rows_of(flat: np.ndarray, count: int, stride: int, turns: bool) -> np.ndarray:
        x = np.lib.stride_tricks.as_strided(flat, (tokens, count, head), (stride * 8, head * 8, 8))
        if turns:
            pairs = (x[..., at[0]] + 1j * x[..., at[1]]) * turn
            x[..., at[0]], x[..., at[1]] = pairs.real, pairs.imag
        return x

    made = {n: np.array(args[n], np.float64) for n in ("q", "key", "value", "key_cache", "value_cache")}
    rows_of(made["q"], sizes["q_heads"], int(args["q_stride"]), True)
    slots = np.asarray(args["slots"], np.int64)[:tokens]
    kept = slots >= 0
    block, offset = slots[kept] // size, slots[kept] % size
    for name, scale in (("key", "k_scale"), ("value", "v_scale")):
        rows = rows_of(made[name], heads, int(args[f"{name}_stride"]), name == "key")[kept]
        if sizes["codes"]:
            rows = np.clip(rows / float(np.asarray(args[scale], np.float64)[0]), -448, 448)
        cache, step = made[f"{name}_cache"], int(args["block_stride"]) * 8
        blocks = len(cache) * 8 // step
        if sizes["heads_first"]:
            shape, strides = (blocks, heads, size, head), (step, size * head * 8, head * 8, 8)
            np.lib.stride_tricks.as_strided(cache, shape, strides)[block, :, offset] = rows
        else:
            shape, strides = (blocks, size, heads, head), (step, heads * head * 8, head * 8, 8)
            np.lib.stride_tricks.as_strided(cache, shape, strides)[block, offset] = rows
    return {n: made[n] for n in ("q", "key_cache", "value_cache")}
