"""Counts, padded offsets and slots by a stable sort; whole numbers, exact in float64."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    ids, experts, pad = np.asarray(args["topk_ids"]), sizes["experts"], sizes["pad"]
    first, local = int(args["first"]), int(args["local"])
    here = (ids >= first) & (ids < first + local)
    counts = np.bincount(ids[here], minlength=experts)
    offsets = np.concatenate(([0], np.cumsum(-(-counts // pad) * pad)))
    order = np.argsort(np.where(here, ids, experts), kind="stable")[: here.sum()]
    slots = np.full(len(ids), -1)
    begins = np.cumsum(counts) - counts
    chosen = ids[order]
    slots[order] = offsets[chosen] + np.arange(len(order)) - begins[chosen]
    made = {"counts": counts, "offsets": offsets, "slots": slots}
    return {name: value.astype(np.float64) for name, value in made.items()}
