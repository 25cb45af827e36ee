"""Conjugate gradients in float64, as many steps as the original's rule asks for."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    width, height, limit = int(args["width"]), int(args["height"]), int(args["limit"])
    b = np.asarray(args["b"], np.float64).reshape(height, width)
    diagonal = 4.0 + float(np.float32(args["shift"]))

    def apply(x: np.ndarray) -> np.ndarray:
        wide = np.pad(x, 1)
        return diagonal * x - wide[:-2, 1:-1] - wide[2:, 1:-1] - wide[1:-1, :-2] - wide[1:-1, 2:]

    x, r, p = np.zeros_like(b), b.copy(), b.copy()
    rr = float((r * r).sum())
    enough, history, step = rr * float(np.float32(args["tolerance"])) ** 2, np.zeros(limit + 1), 0
    while step < limit and rr > enough:
        history[step] = rr**0.5
        ap = apply(p)
        alpha = rr / float((p * ap).sum())
        x, r = x + alpha * p, r - alpha * ap
        new = float((r * r).sum())
        p, rr, step = r + new / rr * p, new, step + 1
    history[step] = rr**0.5
    return {"x": x.ravel(), "history": history, "done": np.array([step])}
