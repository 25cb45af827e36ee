"""Blocks of the mixture of experts alone: loads with a predicate, sorted registers, keys."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.blocks.sort_registers import exchanges
from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_moe"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", tmp_path_factory.mktemp("dump")), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.dsl
def test_a_load_whose_predicate_does_not_hold_reads_nothing_and_gives_zeros(given: Any) -> None:
    assert len(given["loads"]) == 11
    scales = {"f16": 1, "f32": 1, "i64": (1 << 40) + 3, "f64": 1 / 3}
    for key, (at, out) in given["loads"].items():
        width = int(key.split()[1])
        rows = (np.arange(32 * width).reshape(32, width) + 1) * scales[key.split()[0]]
        want = [rows[a].tolist() if a >= 0 else [0] * width for a in at]
        assert np.reshape(out, (32, width)).tolist() == want, key


@pytest.mark.dsl
def test_registers_are_sorted_largest_first(given: Any) -> None:
    for key, (x, out) in given["sorted"].items():
        rows = np.reshape(x, (32, int(key.split()[1])))
        assert np.reshape(out, rows.shape).tolist() == np.sort(rows, axis=1)[:, ::-1].tolist(), key


@pytest.mark.dsl
def test_the_largest_key_has_the_largest_value_and_of_equal_ones_the_lowest_index(given: Any) -> None:
    x = ((np.arange(64) * 29) % 23 - 17) / 4
    x[[3, 8, 40, 41]] = 0.0, -0.0, np.nan, -np.inf
    x[[32, 33, 34, 35]] = np.nan, -np.inf, np.nan, -np.inf
    x[57] = np.inf
    x, at = np.where(np.isnan(x), -np.inf, x), (np.arange(64) * 5) % 64
    assert len(given["keys"]) == 9
    for key, (value, index) in given["keys"].items():
        lanes = int(key.split()[1])
        for start in range(0, 64, lanes):
            here = slice(start, start + lanes)
            best = min(zip(-x[here], at[here], strict=True))
            got = {(-float(v), i) for v, i in zip(value[here], index[here], strict=True)}
            assert got == {(float(best[0]), int(best[1]))}, (key, start)
            assert all(v != "-0.0" for v in value[here]), "both zeros are one value"


@pytest.mark.parametrize("count", range(1, 11))
def test_the_network_sorts_every_row_of_zeros_and_ones(count: int) -> None:
    """A network that sorts these sorts everything."""
    pairs = exchanges(count)
    for bits in itertools.product((0, 1), repeat=count):
        row = list(bits)
        for a, b in pairs:
            row[a], row[b] = max(row[a], row[b]), min(row[a], row[b])
        assert row == sorted(bits, reverse=True), bits


def test_the_network_is_as_small_as_batcher_says() -> None:
    assert [len(exchanges(n)) for n in (1, 2, 4, 8, 16)] == [0, 1, 5, 19, 63]
