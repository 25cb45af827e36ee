"""Collatz steps and peaks of all starts at once, in wrapping uint64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    x = np.asarray(args["start"], np.int64).astype(np.uint64)
    peak = x.copy()
    steps = np.zeros(x.size, np.int32)
    live = np.arange(x.size)
    one, three = np.uint64(1), np.uint64(3)
    for _ in range(max(int(args["limit"]), 1)):  # the loop tests at its end: one step always
        v = x[live]
        v = np.where(v & one, three * v + one, v >> one)
        x[live] = v
        peak[live] = np.maximum(peak[live], v)
        steps[live] += 1
        live = live[v > one]
        if live.size == 0:
            break
    return {"steps": np.where(x == one, steps, -steps).astype(np.int32), "peak": peak}
