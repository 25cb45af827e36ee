"""Codes and scales in float64, by tables of the numbers that they stand for; gaps stay as they were."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
E4M3 = np.array([(m / 8 + (e > 0)) * 2.0 ** (max(e, 1) - 7) for e in range(16) for m in range(8)])[:127]
POWERS = 2.0 ** (np.arange(255) - 127.0)


def nearest(y: np.ndarray, table: np.ndarray, nan: int) -> np.ndarray:
    """The index of the nearest number of the table, an even one of two; beyond the last the last. The sign
    stands above the index."""
    size = np.abs(y)
    upper = np.clip(np.searchsorted(table, size), 1, len(table) - 1)
    below, above = size - table[upper - 1], table[upper] - size
    code = np.where((below < above) | ((below == above) & (upper % 2 == 1)), upper - 1, upper)
    return np.where(np.isnan(y), nan, code + np.signbit(y) * (len(table) + 1 & ~1))


def scales(most: np.ndarray, bits: int, up: bool) -> np.ndarray:
    """Codes of scales for groups of largest magnitude `most`. Rounding up is defined by an fp32 product."""
    if up:
        ratio = most.astype(np.float32) * np.float32(1 / (448 if bits == 8 else 6))
        code = np.searchsorted(POWERS, ratio.astype(np.float64), "left")
    else:
        code = np.searchsorted(POWERS * (256 if bits == 8 else 4), most, "right") - 1
    code = np.where(np.isinf(most), 254, np.clip(code, 0, 254))
    return np.where(np.isnan(most), 255, code)


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rows, columns, bits, tiles = (sizes[n] for n in ("rows", "columns", "bits", "tiles"))
    x_stride, q_stride = (int(args[n]) for n in ("x_stride", "q_stride"))
    flat = np.asarray(args["x"], np.float64)
    x = np.lib.stride_tricks.as_strided(flat, (rows, columns), (x_stride * 8, 8))
    groups = -(-columns // 32)
    whole = np.zeros((rows, groups * 32))
    whole[:, :columns] = x
    code = scales(np.abs(whole).reshape(rows, groups, 32).max(2), bits, bool(sizes["round_up"]))
    with np.errstate(invalid="ignore"):
        y = whole / np.repeat(POWERS[np.minimum(code, 254)], 32, axis=1)
    codes = nearest(y, E4M3, 127) if bits == 8 else nearest(y, E2M1, 7)
    if bits == 4:
        codes = codes[:, ::2] + 16 * codes[:, 1::2]
    used = (columns * bits + 7) // 8
    q = np.full((rows - 1) * q_stride + used, np.nan)
    np.lib.stride_tricks.as_strided(q, (rows, used), (q_stride * 8, 8))[:] = codes[:, :used]
    if tiles:
        padded = np.zeros((-(-rows // 128) * 128, -(-groups // 4) * 4))
        padded[:rows, :groups] = code
        code = padded.reshape(-1, 4, 32, padded.shape[1] // 4, 4).transpose(0, 3, 2, 1, 4)
    return {"q": q, "scale": code.astype(np.float64).ravel()}
