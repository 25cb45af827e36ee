"""What is above the limit, in the order of x; zeros beyond, which nobody compares."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    x = np.asarray(args["x"], np.float64)
    where = np.flatnonzero(x > np.float64(args["limit"]))
    out, at = np.zeros(len(x)), np.zeros(len(x))
    out[: len(where)], at[: len(where)] = x[where], where
    return {"out": out, "at": at, "found": np.array([len(where)], np.float64)}
