"""Transpose: odata is width x height, idata height x width."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    idata = np.asarray(args["idata"], np.float64).reshape(sizes["height"], sizes["width"])
    return {"odata": idata.T.ravel()}
