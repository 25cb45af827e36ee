"""One symplectic Euler step in float64; the struct's fields arrive as p.<field>."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    dt, gravity, damping, half_box, stiffness = (
        float(np.float32(args["p." + field]))
        for field in ("dt", "gravity", "damping", "half_box", "stiffness")
    )
    pos = np.asarray(args["pos"], np.float64).reshape(-1, 4).copy()
    vel = np.asarray(args["vel"], np.float64).reshape(-1, 4).copy()
    x = pos[:, :3]
    wall = -stiffness * (x - np.clip(x, -half_box, half_box))
    accel = wall * pos[:, 3:]
    accel[:, 1] -= gravity
    vel[:, :3] = (vel[:, :3] + dt * accel) * damping
    pos[:, :3] += vel[:, :3] * dt
    return {"pos": pos.ravel(), "vel": vel.ravel()}
