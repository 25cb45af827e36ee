"""Each block alone: what it gives in the emulator, beside numpy; what host blocks choose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.blocks.row_partition import row_partition
from corpus.blocks.vector_width import vector_width
from corpus.blocks.warps_of_block import warps_of_block
from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", tmp_path_factory.mktemp("dump")), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def grouped(x: Any, lanes: int, operation: Any) -> list[float]:
    groups = np.asarray(x).reshape(-1, lanes)
    return [float(v) for v in np.repeat(operation.reduce(groups, axis=1), lanes)]


@pytest.mark.dsl
def test_lanes_are_reduced_in_groups_of_any_size_and_type(given: Any) -> None:
    count = np.arange(1, 65)
    values = {
        "i32": count, "i64": count << 33, "f32": count.astype(np.float32), "f64": count / 3.0,
        "f16": (count % 8), "bf16": (count % 4),
    }  # fmt: skip
    for name, x in values.items():
        for lanes in (2, 4, 8, 16, 32):
            got, want = given["lanes"][f"add {name} {lanes}"], grouped(x, lanes, np.add)
            assert np.allclose(got, want, rtol=1e-15 if name == "f64" else 0, atol=0), (name, lanes)


@pytest.mark.dsl
def test_lanes_are_reduced_by_any_operation(given: Any) -> None:
    x = ((np.arange(64) * 37) % 64 / 16 + 0.5).astype(np.float32)
    assert given["lanes"]["fmax f32 8"] == grouped(x, 8, np.maximum)
    assert given["lanes"]["fmin f32 8"] == grouped(x, 8, np.minimum)
    assert np.allclose(given["lanes"]["mul f32 8"], grouped(x, 8, np.multiply), rtol=1e-6)
    assert given["lanes"]["xor i32 16"] == grouped((np.arange(64) * 37) % 101, 16, np.bitwise_xor)


@pytest.mark.dsl
def test_rows_are_reduced_over_lanes_and_warps(given: Any) -> None:
    for key, got in given["rows"].items():
        lanes, threads = map(int, key.split())
        x = (np.arange(threads) % 251).astype(np.float32)
        sums, most = grouped(x, lanes, np.add), grouped(x, lanes, np.maximum)
        want = [np.float32(np.float32(m) * 1e6 + s) for s, m in zip(sums, most, strict=True)]
        assert np.allclose(got, want, rtol=2e-7, atol=0), key


@pytest.mark.dsl
def test_moments_of_rows_cancel_nothing_whatever_lanes_hold(given: Any) -> None:
    assert len(given["moments"]) == 10
    for key, (means, squares) in given["moments"].items():
        columns, _, lanes, rows = map(int, key.split())
        x = np.random.default_rng(columns).normal(100, 0.5, (rows, columns)).astype(np.float32)
        wide = x.astype(np.float64)
        mean = np.repeat(wide.mean(1), lanes)
        around = np.repeat(((wide - wide.mean(1, keepdims=True)) ** 2).sum(1), lanes)
        assert np.allclose(means, mean, rtol=3e-7, atol=0), key
        assert np.allclose(squares, around, rtol=2e-5, atol=0), key


@pytest.mark.dsl
def test_rows_are_copied_whole_and_no_further(given: Any) -> None:
    for key, (out, seen) in given["copies"].items():
        rows, columns, stride, width, lanes = map(int, key.split())
        x = (np.arange((rows - 1) * stride + columns) % 61).astype(np.float32)
        inside = np.arange(len(x)) % stride < columns
        assert out == np.where(inside, x, 0).tolist(), key
        for row in range(rows):
            line = x[row * stride : row * stride + columns]
            owner = np.arange(columns) // width % lanes
            assert seen[row] == [float(line[owner == t].sum()) for t in range(lanes)], key


@pytest.mark.parametrize(
    ("bits", "facts", "width"),
    [
        (16, (128,), 8),
        (32, (128,), 4),
        (16, (128, 132), 4),
        (16, (128, 130, 64), 2),
        (16, (127,), 1),
        (8, (48,), 16),
    ],
)
def test_a_vector_is_as_wide_as_every_fact_allows(bits: int, facts: tuple[int, ...], width: int) -> None:
    assert vector_width(bits, *facts) == width


def test_wider_accesses_are_taken_where_they_are_allowed() -> None:
    assert [vector_width(16, n, access=256) for n in (128, 136, 132)] == [16, 8, 4]


@pytest.mark.parametrize(
    ("columns", "width", "rows", "plan"),
    [
        (128, 8, 100000, (16, 8)),  # several rows a warp
        (4096, 8, 100000, (256, 1)),  # 2 vectors a thread
        (7168, 8, 100000, (256, 1)),  # 4 vectors a thread
        (4096, 8, 8, (512, 1)),  # decode: one vector a thread
        (64, 8, 8, (8, 4)),  # decode: a warp
        (16384, 1, 8, (1024, 1)),  # no more lanes than a block has
        (8, 8, 100000, (4, 32)),
    ],
)
def test_rows_are_dealt_to_lanes(columns: int, width: int, rows: int, plan: tuple[int, int]) -> None:
    assert row_partition(columns, width, rows, 132) == plan
    assert plan[0] * plan[1] % 32 == 0 and plan[0] * plan[1] <= 1024


def test_warps_spread_over_multiprocessors_first() -> None:
    assert [warps_of_block(n, 132) for n in (1, 132, 133, 264, 265, 100000)] == [1, 1, 2, 2, 4, 4]
