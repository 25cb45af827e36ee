"""When two outputs are the same: exact for integers, for floats one of two rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from verify.dtypes import DType
from verify.inputs import decode
from verify.spec import Tolerance

Array: TypeAlias = npt.NDArray[Any]
Doubles: TypeAlias = npt.NDArray[np.float64]
# An element much smaller than the output as a whole is judged against this share of the output's rms: where
# terms cancel, neither side can do better.
_SMALL = 1e-3
# Variation of the original's own repeats that an order-dependent kernel may show, times this.
_VARIATION = 4.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """`bad` counts elements beyond the limit, `nonfinite` those of them that differ in NaN or infinity."""

    rule: Literal["exact", "fp64", "original"]
    elements: int
    bad: int = 0
    nonfinite: int = 0
    first_bad: int | None = None
    port_value: str | None = None
    original_value: str | None = None
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: float = 0.0
    bitwise_equal: bool = False
    port_fp64: float | None = None
    original_fp64: float | None = None
    limit: str = ""
    note: str = ""


def compare(
    port: Array,
    original: Array,
    dtype: DType,
    tolerance: Tolerance,
    reference: Doubles | None = None,
    again: Array | None = None,
    order_dependent: bool = False,
) -> Comparison:
    """Compare carrier arrays of one lane. `reference` brings in the fp64 rule; `again` is a second run of the
    original, whose variation widens the limit where results depend on the order of atomics."""
    n = len(original)
    same = bool(np.array_equal(_bits(port), _bits(original)))
    if not dtype.is_float:
        return _integers(port, original, same, again if order_dependent else None)
    if same and reference is None:  # equal bits need no arithmetic, whatever they mean
        return Comparison("original", n, bitwise_equal=True, limit="equal bits")
    p, o = decode(port, dtype), decode(original, dtype)
    wrong = np.isnan(p) != np.isnan(o)
    wrong |= (np.isinf(p) | np.isinf(o)) & (p != o) & ~(np.isnan(p) & np.isnan(o))
    finite = np.isfinite(p) & np.isfinite(o)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.where(finite, np.abs(p - o), 0.0)
    rms = _rms(o[np.isfinite(o)])
    rule: Literal["fp64", "original"] = "original"
    errors: tuple[float, float] | None = None
    if reference is not None:
        rule = "fp64"
        beyond, errors, limit = _against_reference(p, o, reference, finite, dtype, tolerance)
    else:
        allowed, limit = _allowance(o, rms, dtype, tolerance)
        if order_dependent and again is not None:
            with np.errstate(invalid="ignore"):
                spread = np.abs(decode(again, dtype) - o)
            most = float(np.max(spread[np.isfinite(spread)], initial=0.0))
            allowed = allowed + _VARIATION * most
            limit += f" + {_VARIATION:g} x the original's own variation {most:.3g}"
        beyond = finite & (distance > allowed)
    bad = wrong | beyond
    count = int(bad.sum())
    first = int(np.argmax(bad)) if count else None
    scale = np.maximum(np.abs(np.where(finite, o, 1.0)), max(rms * _SMALL, np.finfo(np.float64).tiny))
    return Comparison(
        rule=rule,
        elements=n,
        bad=count,
        nonfinite=int(wrong.sum()),
        first_bad=first,
        port_value=None if first is None else repr(float(p[first])),
        original_value=None if first is None else repr(float(o[first])),
        max_abs=float(distance.max(initial=0.0)),
        max_rel=float((distance / scale).max(initial=0.0)),
        max_ulp=float((distance / _ulp(o, dtype, finite)).max(initial=0.0)),
        bitwise_equal=same,
        port_fp64=errors[0] if errors else None,
        original_fp64=errors[1] if errors else None,
        limit=limit,
    )


def _bits(a: Array) -> Array:
    return np.ascontiguousarray(a).view(np.uint8)


def _rms(x: Doubles) -> float:
    if not len(x):
        return 0.0
    most = float(np.max(np.abs(x)))  # scaled, so that squares of large values do not overflow
    return most * float(np.sqrt(np.mean((x / most) ** 2))) if most > 0 else 0.0


def _ulp(o: Doubles, dtype: DType, finite: npt.NDArray[np.bool_]) -> Doubles:
    tiny = {"f64": 2.0**-1022, "f16": 2.0**-14, "f8e4m3": 2.0**-6, "f8e5m2": 2.0**-14}.get(
        dtype.name, 2.0**-126
    )
    magnitude = np.maximum(np.abs(np.where(finite, o, 1.0)), tiny)
    return dtype.eps * np.exp2(np.floor(np.log2(magnitude)))


def _allowance(o: Doubles, rms: float, dtype: DType, tolerance: Tolerance) -> tuple[Doubles, str]:
    rtol = dtype.rtol if tolerance.rtol is None else tolerance.rtol
    if tolerance.atol is None:
        atol, words = dtype.atol * rms, f"{dtype.atol:g} x rms {rms:.3g}"
    else:
        atol, words = tolerance.atol, f"{tolerance.atol:g}"
    with np.errstate(invalid="ignore"):
        return atol + rtol * np.abs(o), f"{words} + {rtol:g} x |original|"


def _against_reference(
    p: Doubles,
    o: Doubles,
    reference: Doubles,
    finite: npt.NDArray[np.bool_],
    dtype: DType,
    tolerance: Tolerance,
) -> tuple[npt.NDArray[np.bool_], tuple[float, float], str]:
    """Elements whose error is beyond k times the original's worst, absolutely or relatively."""
    known = finite & np.isfinite(reference)
    with np.errstate(invalid="ignore", over="ignore"):
        ep = np.where(known, np.abs(p - reference), 0.0)
        eo = np.where(known, np.abs(o - reference), 0.0)
    inside = reference[known]
    size = float(np.max(np.abs(inside), initial=0.0))
    scale = np.maximum(np.abs(np.where(known, reference, 1.0)), max(_rms(inside) * _SMALL, 1e-300))
    k, worst = tolerance.k, float(eo.max(initial=0.0))
    most_abs = k * worst + dtype.eps * size + (tolerance.atol or 0.0)
    most_rel = k * float((eo / scale).max(initial=0.0)) + 2 * dtype.eps + (tolerance.rtol or 0.0)
    beyond = known & ((ep > most_abs) | (ep / scale > most_rel))
    limit = f"abs {most_abs:.3g}, rel {most_rel:.3g} ({k:g} x the original's fp64 error + ulp floor)"
    return beyond, (float(ep.max(initial=0.0)), worst), limit


def _integers(port: Array, original: Array, same: bool, again: Array | None) -> Comparison:
    differ = port != original
    bad = int(differ.sum())
    note = ""
    varies = again is not None and not np.array_equal(again, original)
    if bad and varies and np.array_equal(np.sort(port), np.sort(original)):
        bad, note = 0, "compared as a set: the original puts the same values elsewhere in each run"
    first = int(np.argmax(differ)) if bad else None
    distance = np.abs(port.astype(np.float64) - original.astype(np.float64))
    return Comparison(
        rule="exact",
        elements=len(original),
        bad=bad,
        first_bad=first,
        port_value=None if first is None else str(port[first]),
        original_value=None if first is None else str(original[first]),
        max_abs=float(distance.max(initial=0.0)) if not note else 0.0,
        bitwise_equal=same,
        limit="exact",
        note=note,
    )
