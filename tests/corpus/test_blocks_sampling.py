"""The blocks of sampling alone, in the emulator beside numpy: sums are whole numbers, so all is exact."""

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
MOST_WEIGHT = 2**30


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_sampling"],
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
def test_several_reductions_meet_at_one_barrier_turn_after_turn(given: Any) -> None:
    for key, (x, got) in given["together"].items():
        lanes, threads, blocks = map(int, key.split())
        value = np.array(x)
        for turn in range(3):
            # A row is `lanes` threads of each block; blocks above one have one row each.
            rows = (
                value.reshape(blocks, threads // lanes, lanes).transpose(1, 0, 2).reshape(-1, blocks * lanes)
            )
            want = np.stack([rows.sum(1) << 33, rows.min(1), rows.max(1)], 1)
            spread = np.tile(np.repeat(want, lanes, axis=0), (blocks, 1))
            assert np.array(got)[:, turn].tolist() == spread.tolist(), (key, turn)
            value = value * 3 + (spread[:, 0] >> 33)
    assert len(given["together"]) == 6


@pytest.mark.dsl
def test_weights_are_rounded_whole_numbers(given: Any) -> None:
    x, got = given["weights"]
    assert got[:12] == [MOST_WEIGHT] * 3 + [0] * 5 + [1, MOST_WEIGHT, 0, MOST_WEIGHT // 2]
    most = np.array(x[12:], np.float64)
    want = 2.0 ** ((most[:, 0] - most[:, 1]) * most[:, 2] + 30)
    assert np.allclose(got[12:], want, rtol=3e-6, atol=0.5)
    assert got[12] > got[40] > got[63] > 0


@pytest.mark.dsl
def test_the_threshold_is_a_weight_that_exists_and_ties_stay_together(given: Any) -> None:
    for key, (x, need, _, got) in given["rows"].items():
        for row, n, (least, kept, _) in zip(np.array(x), need, got, strict=True):
            steps = sorted(set(row[row > 0].tolist()), reverse=True)
            sums = [int(row[row >= w].sum()) for w in steps]
            want = next(((w, s) for w, s in zip(steps, sums, strict=True) if s >= n), (1, 0))
            assert (least, kept) == want, key
    assert len(given["rows"]) == 4


@pytest.mark.dsl
def test_one_element_has_the_target_below_it(given: Any) -> None:
    for key, (x, _, target, got) in given["rows"].items():
        for row, t, (least, kept, place) in zip(np.array(x), target, got, strict=True):
            running = np.cumsum(np.where(row >= least, row, 0))
            # Where nothing weighs anything, no thread says it has the place: what was there stays.
            assert place == (int(np.argmax(running > t)) if kept else -7), (key, t)
