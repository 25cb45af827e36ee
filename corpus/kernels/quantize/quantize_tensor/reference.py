"""What the codes of a tensor stand for before rounding, in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    scale = float(np.asarray(args["scale"], np.float64)[0])
    least, most = (-128, 127) if sizes["largest"] == 127 else (-448, 448)
    return {"q": np.clip(np.asarray(args["x"], np.float64) / scale, least, most)}
