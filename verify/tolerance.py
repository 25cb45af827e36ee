"""When two outputs are the same: exact for integers, for floats one of two rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from verify.dtypes import DType
from verify.errors import Errors, errors, none_of, top
from verify.inputs import decode
from verify.spec import Tolerance

Array: TypeAlias = npt.NDArray[Any]
Doubles: TypeAlias = npt.NDArray[np.float64]
# An element much smaller than the output as a whole is judged against this share of the output's rms: where
# terms cancel, neither side can do better.
_SMALL = 1e-3
# Variation of the original's own repeats that an order-dependent kernel may show, times this.
_VARIATION = 4.0
# Of so few elements the original's worst error says little: by luck it may be none. There, being as near to
# the original as the dtype's own tolerance is enough too.
_FEW = 256
_OFF_BY_LUCK = 0.05
_SAMPLE = 1 << 22  # elements whose median error is taken
_PART = 1 << 22  # elements that are float64 at a time


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
    # against the reference where there is one; else of the port alone, against the original
    port_errors: Errors | None = None
    original_errors: Errors | None = None
    # why the reference can't be right: the original is nowhere near it
    reference_off: str = ""


@dataclass(slots=True)
class _Scales:
    """Numbers of the whole output that each part of it is judged by; errors are the original's against the
    reference, `middle` the median one; `port_middle` is the port's."""

    rms: float
    spread: float = 0.0  # between runs of the original
    size: float = 0.0  # of the reference, largest magnitude
    reference_rms: float = 0.0
    worst_abs: float = 0.0
    worst_rel: float = 0.0
    middle: float = 0.0
    port_middle: float = 0.0
    elements: int = 0


def compare(
    port: Array,
    original: Array,
    dtype: DType,
    tolerance: Tolerance,
    reference: Doubles | None = None,
    again: Sequence[Array] = (),
    order_dependent: bool = False,
) -> Comparison:
    """Compare carrier arrays of one lane. `reference` brings in the fp64 rule; `again` are more runs of the
    original, whose variation widens the limit where results depend on the order of atomics."""
    same = bool(np.array_equal(_bits(port), _bits(original)))
    if not dtype.is_float:
        return _integers(port, original, same, again if order_dependent else ())
    if same and reference is None:  # equal bits need no arithmetic, whatever they mean
        right = none_of(len(original))
        return Comparison(
            "original", len(original), bitwise_equal=True, limit="equal bits", port_errors=right
        )
    merged: Comparison | None = None
    with np.errstate(all="ignore"):  # infinities and NaN are compared on purpose
        scales = _scales(port, original, dtype, reference, again if order_dependent else ())
        for part in _parts(len(original)):
            ref = None if reference is None else reference[part]
            found = _floats(port[part], original[part], dtype, tolerance, ref, scales, order_dependent)
            merged = found if merged is None else _merge(merged, found, part.start)
    assert merged is not None
    off = "" if reference is None else _off(scales, dtype)
    return replace(merged, bitwise_equal=same, reference_off=off)


def _off(scales: _Scales, dtype: DType) -> str:
    """Why a reference is no measure, or "". Its distance from the original is what the port may be off, so a
    wrong one would let wrong ports pass."""
    most = dtype.eps**0.5
    if scales.elements < _FEW:  # of a few sums, terms may cancel by luck
        most = max(most, _OFF_BY_LUCK)
    if scales.middle <= most * scales.reference_rms:
        return ""
    share = scales.middle / max(scales.reference_rms, 1e-300)
    return f"the original is off by {share:.2g} of the rms at the median, more than {most:.2g}"


def _parts(count: int) -> Iterator[slice]:
    """Slices that cover `count` elements, at least one: float64 copies of all at once would not fit."""
    for start in range(0, max(1, count), _PART):
        yield slice(start, min(start + _PART, count))


def _merge(a: Comparison, b: Comparison, start: int) -> Comparison:
    """The comparison of two neighbouring parts; `start` is the index where `b` begins."""
    first, port, original = a.first_bad, a.port_value, a.original_value
    if first is None and b.first_bad is not None:
        first, port, original = b.first_bad + start, b.port_value, b.original_value
    return replace(
        a,
        elements=a.elements + b.elements,
        bad=a.bad + b.bad,
        nonfinite=a.nonfinite + b.nonfinite,
        first_bad=first,
        port_value=port,
        original_value=original,
        max_abs=max(a.max_abs, b.max_abs),
        max_rel=max(a.max_rel, b.max_rel),
        max_ulp=max(a.max_ulp, b.max_ulp),
        port_fp64=None if a.port_fp64 is None else max(a.port_fp64, b.port_fp64 or 0.0),
        port_errors=_both(a.port_errors, b.port_errors),
        original_errors=_both(a.original_errors, b.original_errors),
    )


def _both(a: Errors | None, b: Errors | None) -> Errors | None:
    return a.plus(b) if a is not None and b is not None else None


def _scales(
    port: Array, original: Array, dtype: DType, reference: Doubles | None, again: Sequence[Array]
) -> _Scales:
    parts = list(_parts(len(original)))
    scales = _Scales(_rms_of(decode(original[p], dtype) for p in parts))
    for p in parts if again else ():
        runs = [decode(a[p], dtype) for a in (original, *again)]
        d = np.max(runs, axis=0) - np.min(runs, axis=0)
        scales.spread = max(scales.spread, float(np.max(d[np.isfinite(d)], initial=0.0)))
    scales.elements = len(original)
    if reference is not None:
        known = [np.isfinite(reference[p]) & np.isfinite(decode(original[p], dtype)) for p in parts]
        scales.middle = _middle_error(original, reference, dtype)
        scales.port_middle = _middle_error(port, reference, dtype)
        scales.reference_rms = _rms_of(reference[p][k] for p, k in zip(parts, known, strict=True))
        for p, k in zip(parts, known, strict=True):
            inside, values = reference[p][k], decode(original[p], dtype)[k]
            error = np.abs(values - inside)
            scales.size = max(scales.size, float(np.max(np.abs(inside), initial=0.0)))
            scales.worst_abs = max(scales.worst_abs, float(error.max(initial=0.0)))
            relative = error / _scale(inside, scales.reference_rms)
            scales.worst_rel = max(scales.worst_rel, float(relative.max(initial=0.0)))
    return scales


def _middle_error(values: Array, reference: Doubles, dtype: DType) -> float:
    """Median error, of an even sample where there are very many elements."""
    step = max(1, len(reference) // _SAMPLE)
    error = np.abs(decode(values[::step], dtype) - reference[::step])
    finite = error[np.isfinite(error)]
    return float(np.median(finite)) if len(finite) else 0.0


def _scale(values: Doubles, rms: float) -> Doubles:
    return np.maximum(np.abs(values), max(rms * _SMALL, 1e-300))


def _floats(
    port: Array,
    original: Array,
    dtype: DType,
    tolerance: Tolerance,
    reference: Doubles | None,
    scales: _Scales,
    varies: bool,
) -> Comparison:
    """One part of a float output."""
    p, o = decode(port, dtype), decode(original, dtype)
    wrong = np.isnan(p) != np.isnan(o)
    wrong |= (np.isinf(p) | np.isinf(o)) & (p != o) & ~(np.isnan(p) & np.isnan(o))
    finite = np.isfinite(p) & np.isfinite(o)
    distance = np.where(finite, np.abs(p - o), 0.0)
    error: float | None = None
    if reference is not None:
        beyond, error, limit = _against_reference(p, reference, finite, dtype, tolerance, scales, varies)
        # Where the reference is no number but the original is one, the original is all there is.
        allowed, _ = _allowance(o, scales.rms, dtype, tolerance)
        beyond |= finite & ~np.isfinite(reference) & (distance > allowed)
        if scales.elements < _FEW:
            allowed, words = _allowance(o, scales.rms, dtype, tolerance)
            beyond &= distance > allowed
            limit += f" or {words}"
    else:
        allowed, limit = _allowance(o, scales.rms, dtype, tolerance)
        if varies:
            allowed = allowed + _VARIATION * scales.spread
            limit += f" + {_VARIATION:g} x the original's own variation {scales.spread:.3g}"
        beyond = finite & (distance > allowed)
    bad = wrong | beyond
    count = int(bad.sum())
    first = int(np.argmax(bad)) if count else None
    base = np.where(finite, o, 1.0)
    apart = errors(distance, base, _scale(base, scales.rms), dtype, finite)
    own, originals = apart, None
    if reference is not None:
        own = _errors_against(p, reference, dtype, scales)
        originals = _errors_against(o, reference, dtype, scales)
    return Comparison(
        rule="original" if reference is None else "fp64",
        elements=len(o),
        bad=count,
        nonfinite=int(wrong.sum()),
        first_bad=first,
        port_value=None if first is None else repr(float(p[first])),
        original_value=None if first is None else repr(float(o[first])),
        max_abs=apart.max_abs,
        max_rel=apart.max_rel,
        max_ulp=apart.max_ulp,
        port_fp64=error,
        original_fp64=None if reference is None else scales.worst_abs,
        limit=limit,
        port_errors=own,
        original_errors=originals,
    )


def _errors_against(values: Doubles, reference: Doubles, dtype: DType, scales: _Scales) -> Errors:
    known = np.isfinite(values) & np.isfinite(reference)
    right = np.where(known, reference, 1.0)
    distance = np.where(known, np.abs(values - reference), 0.0)
    return errors(distance, right, _scale(right, scales.reference_rms), dtype, known)


def _bits(a: Array) -> Array:
    return np.ascontiguousarray(a).view(np.uint8)


def _rms_of(parts: Iterable[Doubles]) -> float:
    """Root mean square of the finite values of all parts; scaled, so that large squares do not overflow."""
    most, total, count = 0.0, 0.0, 0
    for part in parts:
        x = part[np.isfinite(part)]
        peak = float(np.max(np.abs(x), initial=0.0))
        if peak > most:
            total *= (most / peak) ** 2
            most = peak
        if most > 0:
            total += float(np.sum((x / most) ** 2))
        count += len(x)
    return most * float(np.sqrt(total / count)) if count else 0.0


def _allowance(o: Doubles, rms: float, dtype: DType, tolerance: Tolerance) -> tuple[Doubles, str]:
    rtol = dtype.rtol if tolerance.rtol is None else tolerance.rtol
    if tolerance.atol is None:
        atol, words = dtype.atol * rms, f"{dtype.atol:g} x rms {rms:.3g}"
    else:
        atol, words = tolerance.atol, f"{tolerance.atol:g}"
    return atol + rtol * np.abs(o), f"{words} + {rtol:g} x |original|"


def _against_reference(
    p: Doubles,
    reference: Doubles,
    finite: npt.NDArray[np.bool_],
    dtype: DType,
    tolerance: Tolerance,
    scales: _Scales,
    varies: bool,
) -> tuple[npt.NDArray[np.bool_], float, str]:
    """(elements whose error is beyond k times the original's worst, absolutely or relatively; the worst
    error; the limit in words)."""
    known = finite & np.isfinite(reference)
    error = np.where(known, np.abs(p - reference), 0.0)
    scale = _scale(np.where(known, reference, 1.0), scales.reference_rms)
    k = tolerance.k
    most_abs = k * scales.worst_abs + dtype.eps * scales.size + (tolerance.atol or 0.0)
    most_rel = k * scales.worst_rel + 2 * dtype.eps + (tolerance.rtol or 0.0)
    if varies:  # another order of additions is another error, of which the original's is one sample
        most_abs += _VARIATION * scales.spread + dtype.rtol * scales.size
        most_rel += dtype.rtol + _VARIATION * scales.spread / max(scales.size, 1e-300)
    elif scales.elements >= _FEW:
        # The worst error is one element's; the median one shows a port that is worse everywhere.
        middle = k * scales.middle + dtype.eps * scales.reference_rms + (tolerance.atol or 0.0)
        if scales.port_middle > middle:
            most_abs = min(most_abs, middle)
    beyond = known & ((error > most_abs) | (error / scale > most_rel))
    limit = f"abs {most_abs:.3g}, rel {most_rel:.3g} ({k:g} x the original's fp64 error + ulp floor)"
    return beyond, top(error), limit


def _integers(port: Array, original: Array, same: bool, again: Sequence[Array]) -> Comparison:
    if same:
        return Comparison("exact", len(original), bitwise_equal=True, limit="exact")
    differ = port != original
    bad = int(differ.sum())
    note = ""
    varies = any(not np.array_equal(a, original) for a in again)
    if bad and varies and np.array_equal(np.sort(port), np.sort(original)):
        bad, note = 0, "a multiset: the original puts the same values elsewhere in each run"
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
