"""The recurrence, one element after another, exactly."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    m, b = np.asarray(args["m"], np.uint32), np.asarray(args["b"], np.uint32)
    state, h = int(args["start"]), np.empty(sizes["n"])
    for i in range(sizes["n"]):
        state = ((int(m[i]) | 1) * state + int(b[i])) & 0xFFFFFFFF
        h[i] = state
    return {"h": h}
