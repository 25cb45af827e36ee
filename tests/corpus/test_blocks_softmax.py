"""The blocks of the family softmax alone: in the emulator beside numpy; what host blocks choose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.blocks.long_spread import long_spread
from corpus.blocks.row_spread import row_spread
from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
FURTHEST = 2**31 - 1


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_softmax"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", tmp_path_factory.mktemp("dump")), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.dsl
def test_blocks_of_a_cluster_reduce_twice(given: Any) -> None:
    values = np.arange(16) * 37 % 23
    for key, got in given["clusters"].items():
        kind, blocks = key.split()
        x = values << 33 if kind == "Int64" else values
        groups = x.reshape(-1, int(blocks))
        want = np.repeat(groups.max(1) + groups.sum(1), int(blocks) * 32)
        assert got == want.tolist(), key
    assert len(given["clusters"]) == 8


@pytest.mark.dsl
def test_sums_of_exponentials_stand_beside_their_maximum(given: Any) -> None:
    for key, (x, got) in given["softmax"].items():
        lanes, blocks = map(int, key.split())
        rows = np.asarray(x).reshape(2, -1)
        most = rows.max(1)
        total = np.exp(rows - most[:, None]).sum(1)
        pairs = np.repeat(np.stack([most, total], 1), lanes * blocks, axis=0)
        assert np.allclose(got, pairs, rtol=2e-6, atol=0), key
    assert len(given["softmax"]) == 5


@pytest.mark.dsl
def test_numbers_order_as_values_and_places_do(given: Any) -> None:
    # as in ODD: NaN by place, then falling, equal ones by place
    order = [1, 6, 15, 4, 9, 11, 0, 12, 7, 2, 3, 14, 8, 13, 10, 5]
    numbers, values, columns = given["ranked"]
    assert np.argsort(numbers)[::-1].tolist() == order
    assert columns == list(range(16))
    odd = np.array(
        [1.5, np.nan, 0, 0, np.inf, -np.inf, np.nan, 1e-41, -1e-41, 3e38, -3e38, 2, 1.5, -2, 0, np.nan]
    )
    assert np.array_equal(np.array(values, np.float32), odd.astype(np.float32), equal_nan=True)
    assert not np.signbit(values[2])


@pytest.mark.dsl
def test_lists_of_warps_merge_in_order(given: Any) -> None:
    for key, (x, got) in given["ranks"].items():
        lanes, threads = map(int, key.split())
        for row in range(threads // lanes):
            own = np.asarray(x)[row * lanes : (row + 1) * lanes].reshape(-1, 32)
            lists = [sorted([*w.tolist(), 50], reverse=True)[:32] for w in own]
            want = sorted((n for one in lists for n in one), reverse=True)[:32]
            have = np.asarray(got)[row * lanes : (row + 1) * lanes].reshape(-1, 32)
            assert have.tolist() == [want] * len(own), key
    assert len(given["ranks"]) == 3


@pytest.mark.dsl
def test_rows_are_swept_whole_and_the_first_best_is_found(given: Any) -> None:
    for key, (x, out, best) in given["chunks"].items():
        columns, width, lanes, _ = map(int, key.split())
        assert np.array_equal(x, out, equal_nan=True), key
        for lane in range(lanes):
            mine = [c for c in range(columns) if c // width % lanes == lane]
            if mine:
                first = mine[int(np.argmax(np.asarray(x)[mine]))]
                assert FURTHEST - (best[lane] & FURTHEST) == first, (key, lane)
            else:
                assert FURTHEST - (best[lane] & FURTHEST) >= columns, (key, lane)
    assert len(given["chunks"]) == 4


@pytest.mark.parametrize(
    ("vectors", "rows", "most_blocks", "hold", "plan"),
    [
        (8, 100000, 8, 8, (8, 16, 1)),  # several rows a warp
        (2048, 100000, 8, 8, (512, 1, 1)),  # as row_partition
        (4096, 100000, 8, 8, (512, 1, 1)),  # held by a block
        (4097, 100000, 8, 8, (512, 1, 2)),  # by a cluster of two
        (32768, 100000, 8, 8, (512, 1, 8)),
        (65536, 100000, 8, 8, (1024, 1, 8)),  # blocks grow when clusters can't
        (4097, 100000, 1, 8, (1024, 1, 1)),  # without clusters
        (65, 100000, 8, 1, (128, 1, 1)),  # lanes grow before clusters do
        (65536, 100000, 1, 8, (1024, 1, 1)),  # more than is held: the kernel sweeps
        (16384, 100000, 8, 0, (512, 1, 1)),  # nothing is held
        (16384, 1, 8, 0, (1024, 1, 8)),  # decode: as many blocks as there can be
        (16384, 33, 8, 0, (1024, 1, 4)),  # or as there are multiprocessors for
        (16384, 132, 8, 0, (1024, 1, 1)),
        (1024, 1, 8, 0, (1024, 1, 1)),  # a block has lanes for all
        (16384, 132, 8, 8, (1024, 1, 2)),  # decode, but it must be held
    ],
)
def test_rows_are_spread_over_blocks(
    vectors: int, rows: int, most_blocks: int, hold: int, plan: tuple[int, int, int]
) -> None:
    assert row_spread(vectors, rows, 132, most_blocks, hold) == plan


def test_blocks_of_a_cluster_have_one_row() -> None:
    for vectors in range(1, 5000, 7):
        for rows in (1, 40, 132, 133, 100000):
            for hold in (0, 1, 4, 8):
                lanes, block_rows, blocks = row_spread(vectors, rows, 132, 8, hold)
                assert blocks == 1 or (block_rows == 1 and lanes >= 32), (vectors, rows, hold)
                assert lanes * block_rows % 32 == 0 and lanes * block_rows <= 1024
                assert not hold or lanes * blocks * hold >= vectors or lanes * blocks == 8192


@pytest.mark.parametrize(
    ("vectors", "rows", "most_blocks", "share", "plan"),
    [
        (2560, 4096, 8, 8, (512, 1)),  # many rows: a block has 64 KB of each
        (4096, 133, 8, 8, (512, 1)),
        (4097, 133, 8, 8, (512, 2)),
        (16384, 100, 8, 8, (512, 4)),
        (32768, 1024, 8, 8, (512, 8)),
        (65536, 1024, 8, 8, (1024, 8)),  # blocks grow where clusters can't
        (16384, 1024, 1, 8, (1024, 1)),  # without clusters
        (16384, 99, 8, 8, (512, 2)),  # few rows: blocks for three quarters of the multiprocessors
        (16384, 49, 8, 8, (512, 4)),
        (16384, 50, 8, 8, (512, 2)),
        (16384, 1, 8, 8, (512, 8)),
        (65536, 1, 8, 8, (1024, 8)),
        (2049, 1, 8, 8, (512, 8)),
        (2050, 1, 2, 2, (1024, 2)),  # little is held
    ],
)
def test_long_rows_are_spread_over_blocks(
    vectors: int, rows: int, most_blocks: int, share: int, plan: tuple[int, int]
) -> None:
    assert long_spread(vectors, rows, 132, most_blocks, share) == plan
