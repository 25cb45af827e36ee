"""The blocks of sums alone: a grid's last block, sums of lanes, the look back over tiles, added vectors."""

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


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_scan"],
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
def test_one_block_is_the_last_and_sees_what_all_wrote(given: Any) -> None:
    assert list(given["last"]) == ["1", "2", "9"]
    for key, (out, count, word) in given["last"].items():
        x = (np.arange(64 * int(key)) % 89).reshape(-1, 64) ** 2
        assert out == x.sum(axis=0)[::-1].tolist(), key
        assert count == [1], "one block, no more and no less"
        assert word == [0], "the word is as it was found"


@pytest.mark.dsl
def test_lanes_get_the_sum_of_those_before_and_of_all(given: Any) -> None:
    before, total = ([float(v) for v in a] for a in given["scan"]["i32"])
    x = (np.arange(64) * 37 % 101 - 50).reshape(2, 32)
    assert before == (np.cumsum(x, axis=1) - x).ravel().tolist()
    assert total == np.repeat(x.sum(axis=1), 32).tolist()


@pytest.mark.dsl
def test_an_infinity_stays_one_in_the_lanes_after_it(given: Any) -> None:
    before, total = ([float(v) for v in a] for a in given["scan"]["f32"])
    x = np.arange(64) * 37 % 101
    assert before[:10] == (np.cumsum(x) - x)[:10].tolist()
    assert before[10:32] == [np.inf] * 22
    assert before[32:41] == (np.cumsum(x[32:]) - x[32:])[:9].tolist()
    assert before[41:] == [-np.inf] * 23
    assert total == [np.inf] * 32 + [-np.inf] * 32


@pytest.mark.dsl
def test_looking_back_ends_at_the_nearest_tile_that_knows_the_whole(given: Any) -> None:
    assert len(given["known"]) == 14
    x = np.arange(100) * 7 % 31 + 1
    for key, got in given["known"].items():
        _, tile, whole = key.split()
        assert got == [float(x[int(whole) : int(tile)].sum())] * 32, key


@pytest.mark.dsl
def test_looking_back_waits_for_tiles_that_are_not_known_yet(given: Any) -> None:
    for key, got in given["waiting"].items():
        x = np.arange(int(key)) * 5 + 3
        assert got == (np.cumsum(x) - x).tolist(), key


@pytest.mark.dsl
def test_vectors_are_added_element_by_element_and_neighbours_left_alone(given: Any) -> None:
    assert len(given["added"]) == 11
    for key, got in given["added"].items():
        width = int(key.split()[1])
        x, want = (
            (np.arange(64 * width) % 5).reshape(64, width),
            (np.arange(10 * width) % 3).reshape(10, width),
        )
        for t in range(64):
            want[2 * (t % 5)] += x[t]
        assert got == want.ravel().tolist(), key
