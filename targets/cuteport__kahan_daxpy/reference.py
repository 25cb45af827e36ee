"""Kahan-compensated y += a * x; float64 is the kernel's own type, so this is bit for bit its result."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    x, y, comp = (np.asarray(args[name], np.float64) for name in ("x", "y", "comp"))
    term = float(args["a"]) * x - comp
    total = y + term
    return {"y": total, "comp": (total - y) - term}
