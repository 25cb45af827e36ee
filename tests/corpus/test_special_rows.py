"""Rows of only -∞, with +∞ or NaN, or of equal elements, in entries of softmax and sampling."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.dsl


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.special_rows"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", tmp_path_factory.mktemp("dump")), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 24
    return found


def special_rows(columns: int) -> Any:
    """As in special_rows.py, which can't be imported here: it catches launches."""
    x = np.random.default_rng(columns).standard_normal((8, columns)).astype(np.float32)
    x[0], x[4, :-1], x[5], x[6], x[7] = -np.inf, -np.inf, np.nan, np.arange(columns) / 16, 3.0
    x[1, columns // 2], x[2, [columns // 3, columns - 1]] = np.inf, np.nan
    x[3] = np.where(np.arange(columns) < 2, -0.0, 0.0)
    return x


def told(given: Any, name: str) -> Any:
    for key, outs in given.items():
        which, columns, *rest = key.split()
        if which == name:
            yield special_rows(int(columns)), outs, rest


def logarithms(x: Any) -> Any:
    """log Σ e^x of each row, (rows, 1), and x below it: NaN where torch's log_softmax is."""
    with np.errstate(all="ignore"):
        most = x.max(1, keepdims=True).astype(np.float64)
        lse = most + np.log(np.exp(x - most).sum(1, keepdims=True))
        return lse, x - most - np.log(np.exp(x - most).sum(1, keepdims=True))


def test_softmax_is_as_torchs(given: Any) -> None:
    for x, (out,), (log,) in told(given, "softmax"):
        wanted = logarithms(x)[1]
        wanted = wanted if log == "1" else np.exp(wanted)
        assert [int(np.isnan(r).sum()) for r in wanted] == [
            x.shape[1] if k in (0, 1, 2, 5) else 0 for k in range(8)
        ]
        got = np.asarray(out).reshape(x.shape)
        assert np.allclose(got, wanted, rtol=2e-6, atol=2e-6, equal_nan=True), (x.shape, log)


def test_cross_entropy_is_as_torchs_but_for_the_sum_of_infinity(given: Any) -> None:
    for x, (loss, lse), (smoothing,) in told(given, "cross_entropy"):
        sums, below = logarithms(x)
        with np.errstate(all="ignore"):
            mean = (sums - x.mean(1, keepdims=True))[:, 0]
            part = float(smoothing)
            wanted = -below[:, x.shape[1] // 2]
            wanted = (1 - part) * wanted + part * mean if part else wanted
        # of only -∞ it is -∞, as torch's logsumexp; with +∞ it is NaN, where that gives +∞
        assert np.isnan(sums[0]) and np.isnan(sums[1])
        sums[0] = -np.inf
        assert np.allclose(lse, sums[:, 0], rtol=2e-6, atol=2e-6, equal_nan=True), (x.shape, smoothing)
        assert np.isnan(loss[0]) and np.isposinf(loss[4])
        assert np.allclose(loss, wanted, rtol=2e-6, atol=2e-6, equal_nan=True), (x.shape, smoothing)


def test_argmax_is_the_first_and_nan_is_largest(given: Any) -> None:
    for x, (index,), _ in told(given, "argmax"):
        n = x.shape[1]
        assert [index[k] for k in (0, 1, 2, 3, 4, 5, 6, 7)] == [0, n // 2, n // 3, 0, n - 1, 0, n - 1, 0]


def test_top_k_is_in_order_and_equal_ones_by_place(given: Any) -> None:
    for x, (values, indices), _ in told(given, "top_k"):
        falling = np.where(np.isnan(x), -np.inf, -x)
        places = np.broadcast_to(np.arange(x.shape[1]), x.shape)
        order = np.lexsort((places, falling, ~np.isnan(x)), axis=1)[:, :20]
        assert np.array_equal(np.asarray(indices).reshape(-1, 20), order), x.shape
        wanted = np.take_along_axis(x, order, axis=1)
        assert np.array_equal(np.asarray(values, np.float32).reshape(-1, 20), wanted, equal_nan=True), x.shape


def test_tokens_are_drawn_among_what_is_largest_and_never_nan(given: Any) -> None:
    for x, (index,), (temperature,) in told(given, "top_p_sample"):
        # Half of the rows of equal elements lies before the drawn one; of nothing but NaN there is none.
        n = x.shape[1]
        assert [index[k] for k in (0, 1, 3, 4, 5, 7)] == [n // 2, n // 2, n // 2, n - 1, -1, n // 2]
        for k in (2, 6):
            row = x[k].astype(np.float64)
            weights = np.nan_to_num(np.exp((row - np.nanmax(row)) / (float(temperature) or 1e-9)))
            falling = np.sort(weights)[::-1]
            least = falling[np.argmax(np.cumsum(falling) >= 0.9 * weights.sum())]
            running = np.cumsum(np.where(weights >= least, weights, 0.0))
            assert index[k] == np.argmax(running > 0.5 * running[-1]), (k, temperature)
    assert sum(key.startswith("top_p_sample") for key in given) == 6
