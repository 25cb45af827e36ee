"""Linear probing for all queries at once, one step of every open query per turn."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


EMPTY, NOT_FOUND, INVALID = 0, -1, -2


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    keys = np.asarray(args["keys"], np.int32)
    query = np.asarray(args["query"], np.int32)
    mask = int(args["mask"])
    at = np.asarray(args["home"], np.int64) & mask
    slot = np.where(query <= EMPTY, INVALID, NOT_FOUND).astype(np.int32)
    probes = np.zeros(query.size, np.int32)
    live = np.flatnonzero(query > EMPTY)
    for _ in range(int(args["max_probe"])):
        if live.size == 0:
            break
        probes[live] += 1
        key = keys[at[live]]
        hit = key == query[live]
        slot[live[hit]] = at[live[hit]]
        live = live[~hit & (key != EMPTY)]
        at[live] = (at[live] + 1) & mask
    return {"slot": slot, "probes": probes}
