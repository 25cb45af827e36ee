"""Gated activation of each row in float64; gaps between rows stay as they were."""

from __future__ import annotations

import math

import numpy as np

Args = dict[str, np.ndarray | int | float]
error_function = np.vectorize(math.erf, otypes=[np.float64])


def rows_of(flat: np.ndarray, rows: int, columns: int, stride: int) -> np.ndarray:
    """The rows in a flat array, (rows, columns)."""
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (stride * 8, 8))


def activate(x: np.ndarray, activation: int) -> np.ndarray:
    if activation == 0:
        return np.maximum(x, 0)
    if activation == 1:
        return x / 2 * (1 + error_function(x / math.sqrt(2)))
    if activation == 2:
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / (1 + np.exp(-x))


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, inter, out_stride = sizes["rows"], sizes["inter"], int(args["out_stride"])
    x = rows_of(np.asarray(args["x"], np.float64), rows, 2 * inter, int(args["x_stride"]))
    gate, up = (x[:, 0::2], x[:, 1::2]) if args["interleaved"] else (x[:, :inter], x[:, inter:])
    out = np.full((rows - 1) * out_stride + inter, np.nan)
    rows_of(out, rows, inter, out_stride)[:] = activate(gate, int(args["activation"])) * up
    return {"out": out}
