"""How far an approximate opcode's result may be from another approximation's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.emulator.single.cases import Case, Slots

_ULP = {"f32": 2.0**-23, "f64": 2.0**-52, "f16": 2.0**-10, "bf16": 2.0**-7}
_SMALLEST = {"f32": 2.0**-149, "f64": 2.0**-1074, "f16": 2.0**-24, "bf16": 2.0**-133}

Floats = npt.NDArray[np.float64]


def bound(text: str, kind: str, size: Floats) -> Floats:
    """The largest error that a bound allows at `size`: `2^-22 rel`, `2 ulp`, several joined by ` or `."""
    allowed: Floats = np.zeros_like(size)
    for part in text.split(" or "):
        match = re.fullmatch(r"(?:2\^(-[\d.]+)|(\d+)) (rel|abs|ulp)", part)
        assert match, f"not a bound: {part}"
        amount = 2.0 ** float(match[1]) if match[1] else float(match[2])
        if match[3] == "abs":
            allowed = np.maximum(allowed, amount)
        else:
            allowed = np.maximum(allowed, size * amount * (_ULP[kind] if match[3] == "ulp" else 1.0))
    return allowed


def values(bits: Slots, kind: str) -> Floats:
    """The numbers that bits of a float type stand for."""
    if kind == "f64":
        return bits.view(np.float64)
    if kind == "bf16":
        return (bits << np.uint64(16)).astype(np.uint32).view(np.float32).astype(np.float64)
    narrow: Any = bits.astype(np.uint32 if kind == "f32" else np.uint16)
    return narrow.view(np.float32 if kind == "f32" else np.float16).astype(np.float64)  # type: ignore[no-any-return]


def differs(case: Case, hardware: Slots, emulator: Slots) -> npt.NDArray[np.bool_]:
    """Rows in which the two are not the same bits; for approximate opcodes, not within the documented error.

    Both are within it of the true value, and the emulator's rounds once more.
    """
    if not case.op.approximate:
        return (hardware != emulator).any(axis=1)
    kind = case.results[0].type
    with np.errstate(all="ignore"):
        if not kind.endswith("x2"):
            return _far(hardware[:, 0], emulator[:, 0], kind, case.op.approximate)
        low, high = np.uint64(0xFFFF), np.uint64(16)
        lanes = (
            (hardware[:, 0] & low, emulator[:, 0] & low),
            (hardware[:, 0] >> high, emulator[:, 0] >> high),
        )
        return np.logical_or(*(_far(x, y, kind[:-2], case.op.approximate) for x, y in lanes))


def _far(hardware: Slots, emulator: Slots, kind: str, text: str) -> npt.NDArray[np.bool_]:
    x, y = values(hardware, kind), values(emulator, kind)
    size = np.maximum(np.abs(x), np.abs(y))
    close = np.abs(x - y) <= bound(text, kind, size) + size * _ULP[kind] + _SMALLEST[kind]
    same = (x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y)
    return ~(same | (close & np.isfinite(x) & np.isfinite(y)))
