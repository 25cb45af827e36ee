"""The blocks of the activation family alone: how exact the math is, and that chunks cover every row once."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.blocks.row_chunks import row_chunks
from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
ERFC = np.vectorize(math.erfc, otypes=[np.float64])


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_activation"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", tmp_path_factory.mktemp("dump")), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def right(name: str, x: Any) -> Any:
    """In float64, by forms that do not cancel: x · Φ(x) by erfc, x · σ(y) by exp."""
    if name == "relu":
        return np.maximum(x, 0)
    if name == "gelu":
        return x * 0.5 * ERFC(-x / math.sqrt(2))
    y = x if name == "silu" else 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x / (1 + np.exp(-y))


@pytest.mark.dsl
@pytest.mark.parametrize("name", ["relu", "silu", "gelu_tanh", "gelu"])
def test_activations_are_as_exact_as_their_block_says(given: Any, name: str) -> None:
    x = np.array(given["x"][given["odd"] :])
    want = right(name, x)
    for exact, most in ((1, 2e-7), (0, 5e-7)):
        error = np.abs(np.array(given["math"][f"{name} {exact}"][given["odd"] :]) - want)
        assert np.all(error <= most * np.abs(x)), exact
        if not exact:
            assert np.all(error[np.abs(want) > 1e-3] <= 1e-5 * np.abs(want[np.abs(want) > 1e-3]))


@pytest.mark.dsl
def test_fast_and_exact_activations_agree_on_odd_numbers(given: Any) -> None:
    for name in ("relu", "silu", "gelu_tanh", "gelu"):
        exact, fast = (np.array(given["math"][f"{name} {k}"][: given["odd"]]) for k in (1, 0))
        assert np.array_equal(np.isnan(exact), np.isnan(fast)), name
        assert np.array_equal(np.isinf(exact), np.isinf(fast)), name
        # Of 1e-38 and 1e-20 exactly the half, so that ties are rounded as by the exact form.
        assert np.array_equal(exact[-2:], fast[-2:]), name


@pytest.mark.dsl
def test_chunks_cover_every_vector_of_every_row_once(given: Any) -> None:
    assert len(given["places"]) == 4
    for key, seen in given["places"].items():
        assert np.array_equal(seen, np.ones_like(seen)), key


@pytest.mark.dsl
def test_bias_activation_residual_may_write_over_what_it_reads(given: Any) -> None:
    x, bias, residual = (np.array(a) for a in given["finished"])
    want = (np.maximum(x.reshape(5, 32) + bias, 0) + residual.reshape(5, 32)).ravel()
    over_x, over_residual = given["in place 1"], given["in place 0"]
    assert np.array_equal(over_x[0], want) and np.array_equal(over_x[2], residual)
    assert np.array_equal(over_residual[2], want) and np.array_equal(over_residual[0], x)


@pytest.mark.parametrize(
    ("vectors", "rows", "loads", "plan"),
    [
        (608, 1, 2, (64, 1, 1)),  # decode: small blocks over many multiprocessors
        (608, 64, 2, (224, 1, 1)),
        (2368, 64, 2, (256, 1, 1)),
        (608, 16384, 2, (224, 2, 1)),  # prefill: four loads under way
        (608, 16384, 1, (224, 4, 1)),
        (608, 16384, 4, (224, 1, 1)),
        (20, 3, 2, (32, 1, 2)),  # two rows a block
        (1, 100000, 2, (1, 1, 256)),
        (96, 100000, 2, (128, 2, 2)),
        (129, 1057, 2, (160, 2, 1)),
        (129, 1055, 2, (160, 1, 1)),
    ],
)
def test_rows_are_cut_into_chunks(vectors: int, rows: int, loads: int, plan: tuple[int, int, int]) -> None:
    assert row_chunks(vectors, rows, loads, 132) == plan
    assert plan[0] * plan[2] % 32 == 0 and plan[0] * plan[2] <= 1024
