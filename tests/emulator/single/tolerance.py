"""How far an approximate opcode's result may be from another approximation's, and how far it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.emulator.single.cases import Case, Slots, inputs

_ULP = {"f32": 2.0**-23, "f64": 2.0**-52, "f16": 2.0**-10, "bf16": 2.0**-7}
_NORMAL = {"f32": 2.0**-126, "f64": 2.0**-1022, "f16": 2.0**-14, "bf16": 2.0**-126}
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
    """Rows in which the two are not the same bits, or for approximate opcodes not near enough.

    Both are within the documented error of the true value, and the emulator's rounds once more. The rows are
    the first of the case's inputs.
    """
    if not case.op.approximate:
        return (hardware != emulator).any(axis=1)
    kind = case.results[0].type
    x, y = hardware[:, 0], emulator[:, 0]
    with np.errstate(all="ignore"):
        if kind.endswith("x2"):
            low, high = np.uint64(0xFFFF), np.uint64(16)
            lanes = ((x & low, y & low), (x >> high, y >> high))
            return np.logical_or(*(_far(case, u, v, kind[:-2]) for u, v in lanes))
        return _far(case, x, y, kind)


@dataclass(frozen=True, slots=True)
class Errors:
    """The largest differences of two approximations, in the unit in which the row's bound is documented.

    `ulp` is in last places of the larger result; `absolute` counts where an absolute bound is documented and
    the result is at most 1. 0 where no row counts.
    """

    ulp: float
    absolute: float


def errors(case: Case, hardware: Slots, emulator: Slots) -> Errors:
    """Over rows where both are numbers, neither is 0, and angles of sin and cos are at most 2 pi."""
    kind = case.results[0].type
    x, y, operand = hardware[:, 0], emulator[:, 0], inputs(case)[: len(hardware), 0]
    if kind.endswith("x2"):
        kind = kind[:-2]
        low, high = np.uint64(0xFFFF), np.uint64(16)
        x, y, operand = (np.concatenate([v & low, v >> high]) for v in (x, y, operand))
    u, v = values(x, kind), values(y, kind)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(u), np.abs(v))
        counts = np.isfinite(u) & np.isfinite(v) & (np.minimum(np.abs(u), np.abs(v)) > 0)
        if case.op.name.startswith(("sin.", "cos.")):
            counts &= np.abs(values(operand.copy(), kind)) <= 2 * np.pi
        error, size = np.where(counts, np.abs(u - v), 0.0), np.where(counts, size, 1.0)
        steps = error / (np.exp2(np.floor(np.log2(np.maximum(size, _NORMAL[kind])))) * _ULP[kind])
    near = size <= (1.0 if "abs" in case.op.approximate else -1.0)
    return Errors(float(np.where(near, 0.0, steps).max()), float(np.where(near, error, 0.0).max()))


def _far(case: Case, hardware: Slots, emulator: Slots, kind: str) -> npt.NDArray[np.bool_]:
    x, y = values(hardware, kind), values(emulator, kind)
    size = np.maximum(np.abs(x), np.abs(y))
    allowed = bound(case.op.approximate, kind, size) + size * _ULP[kind] + _SMALLEST[kind]
    if case.op.name.startswith(("sin.", "cos.")):
        # The documented error grows with the angle, and there is none beyond 100 pi.
        angle = np.abs(values(inputs(case)[: len(x), 0].copy(), kind))
        allowed = np.where(angle <= 2 * np.pi, allowed, 2.0**-14.7)
        allowed = np.where(angle <= 100 * np.pi, allowed, 2.0)
    if ".ftz" in case.op.name:
        # One may be rounded up to the smallest normal number, the other flushed.
        allowed = np.where(np.minimum(np.abs(x), np.abs(y)) == 0, allowed + 1.001 * _NORMAL[kind], allowed)
    same = (x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y)
    return ~(same | (np.abs(x - y) <= allowed) & np.isfinite(x) & np.isfinite(y))
