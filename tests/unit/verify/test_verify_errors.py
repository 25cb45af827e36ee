"""How far values are off: in units in the last place, over all runs, and when a reference is no measure."""

from __future__ import annotations

import numpy as np
import pytest

from verify.dtypes import lookup
from verify.errors import BUCKETS, errors, ulp
from verify.inputs import Lane
from verify.judge import Judged
from verify.spec import Tolerance
from verify.tolerance import compare
from verify.worst import Worst

F32 = lookup("f32")
LANE = Lane("y", F32, 0, 4, "normal", None, None)


def counted(units: list[float]) -> dict[int, int]:
    distance = np.array(units) * 2.0**-23
    one = np.ones(len(units))
    found = errors(distance, one, one, F32, np.ones(len(units), bool))
    assert sum(found.counts) == len(units) and len(found.counts) == BUCKETS
    return {i: n for i, n in enumerate(found.counts) if n}


def test_buckets_are_powers_of_two_of_an_ulp() -> None:
    assert counted([0, 0]) == {0: 2}
    assert counted([0.01, 0.25, 0.49]) == {1: 3}
    assert counted([0.5, 0.99]) == {2: 2}
    assert counted([1, 1.99, 2, 3.99, 4]) == {3: 2, 4: 2, 5: 1}
    assert counted([32768, 65535]) == {18: 2}
    assert counted([65536, 1e30]) == {19: 2}


def test_an_ulp_is_that_of_the_type() -> None:
    assert ulp(np.array([1.0, 1.5, 2.0, 1e-45, -8.0]), F32).tolist() == [
        2.0**-23,
        2.0**-23,
        2.0**-22,
        2.0**-149,
        2.0**-20,
    ]
    assert ulp(np.array([1.0]), lookup("bf16")).tolist() == [2.0**-7]


def test_both_sides_are_measured_against_the_reference() -> None:
    exact = np.linspace(1, 2, 1000, endpoint=False)
    original = (exact + 1e-7).astype(np.float32)
    port = (exact + 3e-7).astype(np.float32)
    c = compare(port, original, F32, Tolerance(), exact)
    assert c.port_errors is not None and c.original_errors is not None
    assert c.port_errors.max_abs == pytest.approx(3e-7, abs=1e-7)
    assert c.original_errors.max_abs == pytest.approx(1e-7, abs=1e-7)
    assert c.port_errors.max_ulp == pytest.approx(3e-7 / 2.0**-23, abs=1)
    assert sum(c.port_errors.counts) == sum(c.original_errors.counts) == 1000
    assert sum(c.port_errors.counts[4:]) > 900 > sum(c.original_errors.counts[4:])


def test_without_a_reference_the_port_is_measured_against_the_original() -> None:
    original = np.ones(10, np.float32)
    port = original.copy()
    port[3] = np.nextafter(np.float32(1), np.float32(2))
    c = compare(port, original, F32, Tolerance())
    assert c.original_errors is None and c.port_errors is not None
    assert c.port_errors.counts[0] == 9 and c.port_errors.counts[3] == 1
    same = compare(original, original, F32, Tolerance())
    assert same.port_errors is not None and same.port_errors.counts[0] == 10


def test_nan_and_infinity_are_in_no_bucket() -> None:
    original = np.array([1, np.nan, np.inf], np.float32)
    c = compare(original + np.float32(1e-7), original, F32, Tolerance())
    assert c.port_errors is not None and sum(c.port_errors.counts) == 1


def test_errors_are_added_up_over_runs_and_those_against_the_reference_win() -> None:
    worst = Worst()
    exact = np.ones(5)
    right = np.ones(5, np.float32)
    for reference in (None, exact, exact, None):
        c = compare(right, right, F32, Tolerance(), reference)
        worst.note(Judged(LANE, c, None, "", 0))
    (found,) = worst.outputs
    assert found.port_error is not None and found.original_error is not None
    assert found.port_error.histogram[0] == found.original_error.histogram[0] == 10
    assert worst.rules == {"fp64", "original"}


@pytest.mark.parametrize("count", [4, 1000])
def test_a_reference_that_the_original_is_nowhere_near_is_no_measure(count: int) -> None:
    rng = np.random.default_rng(0)
    right = rng.standard_normal(count)
    original = right.astype(np.float32)
    wrong_port = (right * 1.5).astype(np.float32)
    # With this reference the wrong port would be within twice the original's error.
    wrong = right * 2
    assert compare(wrong_port, original, F32, Tolerance(), wrong).reference_off
    assert not compare(original, original, F32, Tolerance(), right).reference_off
    assert compare(wrong_port, original, F32, Tolerance(), right).bad == count


@pytest.mark.parametrize(("name", "eps"), [("f16", 2.0**-10), ("bf16", 2.0**-7), ("f32", 1e-5)])
def test_rounding_of_the_type_is_no_reason_to_doubt_the_reference(name: str, eps: float) -> None:
    from verify.inputs import encode

    t = lookup(name)
    right = np.random.default_rng(1).standard_normal(2000)
    original = encode((right * (1 + 4 * eps)).astype(np.float32), t)
    assert not compare(original, original, t, Tolerance(), right).reference_off


def test_where_the_reference_is_no_number_the_original_is_the_measure() -> None:
    rng = np.random.default_rng(2)
    original = rng.standard_normal(1000).astype(np.float32)
    reference = original.astype(np.float64)
    reference[::2] = np.nan
    reference[1::4] = np.inf
    port = original.copy()
    port[2] *= np.float32(1.5)
    assert compare(original, original, F32, Tolerance(), reference).bad == 0
    found = compare(port, original, F32, Tolerance(), reference)
    assert (found.bad, found.first_bad) == (1, 2)
