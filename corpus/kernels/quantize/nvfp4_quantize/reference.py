"""Codes and scales by tables of numbers, from factors in fp32; gaps stay as they were."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
E4M3 = np.array([(m / 8 + (e > 0)) * 2.0 ** (max(e, 1) - 7) for e in range(16) for m in range(8)])[:127]


def nearest(size: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The index of the nearest number of the table, an even one of two; beyond the last the last, as NaN."""
    upper = np.clip(np.searchsorted(table, size), 1, len(table) - 1)
    below, above = size - table[upper - 1], table[upper] - size
    return np.where((below < above) | ((below == above) & (upper % 2 == 1)), upper - 1, upper)


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, columns, tiles = (sizes[n] for n in ("rows", "columns", "tiles"))
    x_stride, q_stride = (int(args[n]) for n in ("x_stride", "q_stride"))
    flat = np.asarray(args["x"], np.float64)
    x = np.lib.stride_tricks.as_strided(flat, (rows, columns), (x_stride * 8, 8))
    g = np.float32(np.asarray(args["g"]).ravel()[0])
    groups = -(-columns // 16)
    whole = np.zeros((rows, groups * 16))
    whole[:, :columns] = x
    most = np.abs(whole).reshape(rows, groups, 16).max(2).astype(np.float32)
    with np.errstate(all="ignore"):
        # fp32 at each step: the format's description rounds there too.
        code = np.where(
            np.isnan(most), 127, nearest((g * (most * np.float32(1 / 6))).astype(np.float64), E4M3)
        )
        step = np.append(E4M3, np.nan).astype(np.float32)[code]
        factor = np.where(step == 0, np.float32(0), g / step)
        y = (whole.astype(np.float32) * np.repeat(factor, 16, axis=1)).astype(np.float64)
        codes = nearest(np.abs(y), E2M1) + 8 * (np.signbit(y) & ~np.isnan(y))
    codes = np.where(np.isnan(y), 7, codes)
    pairs, used = codes[:, ::2] + 16 * codes[:, 1::2], (columns + 1) // 2
    q = np.full((rows - 1) * q_stride + used, np.nan)
    np.lib.stride_tricks.as_strided(q, (rows, used), (q_stride * 8, 8))[:] = pairs[:, :used]
    if tiles:
        padded = np.zeros((-(-rows // 128) * 128, -(-groups // 4) * 4))
        padded[:rows, :groups] = code
        code = padded.reshape(-1, 4, 32, padded.shape[1] // 4, 4).transpose(0, 3, 2, 1, 4)
    return {"q": q, "scale": code.astype(np.float64).ravel()}
