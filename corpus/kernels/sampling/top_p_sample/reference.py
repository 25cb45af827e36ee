"""A token of each row by sorting whole weights, from exponentials in float64; ties with the least stay."""

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
        shares = np.where(x == most, 1.0, np.exp((x - most) / temperature))
    weights = np.rint(np.where(number, shares, 0.0) * 2.0**30).astype(np.int64)
    falling = np.sort(weights)[::-1]
    need = max(1, min(int(top_p * weights.sum()), int(weights.sum())))
    least = falling[np.searchsorted(np.cumsum(falling), need)]
    running = np.cumsum(np.where(weights >= least, weights, 0))
    target = min(int(uniform * running[-1]), int(running[-1]) - 1)
    return float(np.searchsorted(running, target, side="right"))


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, columns, stride = sizes["rows"], sizes["columns"], sizes["x_stride"]
    flat = np.asarray(args["x"], np.float64)
    x = np.lib.stride_tricks.as_strided(flat, (rows, columns), (stride * 8, 8))
    facts = zip(*(np.asarray(args[n], np.float64) for n in ("temperature", "top_p", "uniform")), strict=True)
    return {"index": np.array([drawn(row, *fact) for row, fact in zip(x, facts, strict=True)])}
