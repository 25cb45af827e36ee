"""A token of each row in float64, by sorting: the most probable ones up to top_p, ties with them."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def drawn(x: np.ndarray, temperature: float, top_p: float, uniform: float) -> float:
    """The index from one row; -1 where nothing but NaN is in it."""
    number = ~np.isnan(x)
    if not number.any():
        return -1.0
    most = np.max(x[number])
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where(x == most, 1.0, np.exp((x - most) / temperature))
    weights[~number] = 0.0
    falling = np.sort(weights)[::-1]
    least = falling[min(np.searchsorted(np.cumsum(falling), top_p * weights.sum()), len(x) - 1)]
    running = np.cumsum(np.where(weights >= least, weights, 0.0))
    target = min(uniform, 1.0 - 2.0**-40) * running[-1]
    return float(np.searchsorted(running, target, side="right"))


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, columns, stride = sizes["rows"], sizes["columns"], sizes["x_stride"]
    flat = np.asarray(args["x"], np.float64)
    x = np.lib.stride_tricks.as_strided(flat, (rows, columns), (stride * 8, 8))
    facts = zip(*(np.asarray(args[n], np.float64) for n in ("temperature", "top_p", "uniform")), strict=True)
    return {"index": np.array([drawn(row, *fact) for row, fact in zip(x, facts, strict=True)])}
