"""What e2m1 codes and E8M0 scales must be, from tables and float64 only; and the inputs that decide.

An e2m1 number is found by comparing with the midpoints of the eight magnitudes; a midpoint itself goes to the
even code. An E8M0 scale is found by comparing with all 255 powers of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Singles = npt.NDArray[np.float32]
VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
MIDPOINTS = (VALUES[1:] + VALUES[:-1]) / 2
POWERS = 2.0 ** (np.arange(255) - 127)  # what codes 0 to 254 stand for


def e2m1(x: Singles) -> npt.NDArray[np.uint8]:
    """Codes, one a byte; NaN gives 7."""
    size = np.abs(x.astype(np.float64))
    code = (size[:, None] > MIDPOINTS).sum(1)
    code += (size[:, None] == MIDPOINTS) @ (np.arange(7) % 2)  # odd below: up to the even one
    code = np.where(np.isnan(x), 7, code + 8 * (np.signbit(x) & ~np.isnan(x)))
    return code.astype(np.uint8)


def e8m0(most: Singles, bits: int, up: bool) -> npt.NDArray[np.int64]:
    """Codes of scales for groups of largest magnitude `most`."""
    largest, exponent = (448.0, 8) if bits == 8 else (6.0, 2)
    if up:
        ratio = (most * np.float32(1 / largest)).astype(np.float64)
        code = np.searchsorted(POWERS, ratio, "left")  # the first that is no less
    else:
        # The last that is no more, of powers times 2^exponent.
        code = np.searchsorted(POWERS * 2.0**exponent, most.astype(np.float64), "right") - 1
    code = np.clip(code, 0, 254)
    code = np.where(np.isposinf(most), 254, code)
    return np.where(np.isnan(most), 255, code)


def all_halves() -> dict[str, Singles]:
    """Every bf16 and every fp16, as fp32."""
    every = np.arange(1 << 16, dtype=np.uint32)
    return {
        "bf16": (every << 16).view(np.float32),
        "f16": every.astype(np.uint16).view(np.float16).astype(np.float32),
    }


def _around(centre: Any, steps: int) -> Singles:
    """`centre` (positive fp32) and its neighbours on both sides."""
    bits = np.asarray(centre, np.float32).view(np.int32)[:, None] + np.arange(-steps, steps + 1)
    return np.clip(bits, 0, 0x7FFFFFFF).astype(np.int32).ravel().view(np.float32)


def _singles() -> Singles:
    """Ties and codes of e2m1, 448 and 6 at every power of two, the ends of fp32, all with neighbours, and a
    spread of everything; both signs. A multiple of 1024."""
    rng = np.random.default_rng(7)
    near = np.concatenate([MIDPOINTS, VALUES[1:], [7, 8, 12, 24], 4 * MIDPOINTS, 4 * VALUES[1:]])
    powers = np.concatenate([2.0**-149 * np.array([1, 2, 3]), 2.0 ** np.arange(-140, 128)])
    largest = np.concatenate([m * POWERS for m in (1.75, 1.5)])
    ends = np.array([0, 2.0**-149, 2.0**-126, 2.0**-127, 3.4028235e38, np.inf])
    spread = rng.integers(0, 1 << 31, 1 << 14).astype(np.uint32).view(np.float32)
    parts = [_around(near, 40), _around(powers, 3), _around(largest, 3), _around(ends, 3), spread]
    x = np.concatenate(parts)
    x = np.concatenate([x, -x])
    return np.concatenate([x, np.ones(-len(x) % 1024, np.float32)])


SINGLES = _singles()


def absmax_inputs(share: int) -> Singles:
    """Shares of 32 lanes. Lane 3's are the largest and do not count; lane 20 has a NaN, lane 29 infinity."""
    x = np.random.default_rng(share).standard_normal(32 * share).astype(np.float32).reshape(32, share)
    x[3, 0], x[20, -1], x[29, share // 2] = 1000, np.nan, -np.inf
    x[8:12] = -0.0
    return x.ravel()
