"""The blocks of dispatch alone: the grid's barrier, the block's running sums, the slots of choices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.blocks.dispatch_plan import dispatch_plan
from corpus.blocks.grid_barrier import co_resident
from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_dispatch"],
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
def test_all_blocks_see_what_all_wrote_before_a_barrier_of_the_grid(given: Any) -> None:
    for key, (out, word) in given["barrier"].items():
        blocks = int(key)
        x = np.arange(blocks * 64).reshape(blocks, 64)
        for _ in range(3):
            x = np.roll(x, -1, axis=0)[:, ::-1]
        assert out == x.tolist(), key
        assert word == [0, 0], "the words are as they were found"


@pytest.mark.dsl
def test_a_barrier_that_does_not_release_is_told(given: Any) -> None:
    assert given["relaxed"] == "CP8012"


def test_a_grid_that_cannot_wait_for_itself_is_refused() -> None:
    assert co_resident(132, 132) == 132
    for blocks in (0, 133):
        with pytest.raises(ValueError, match=f"{blocks} blocks"):
            co_resident(blocks, 132)


@pytest.mark.dsl
def test_each_thread_gets_the_sum_of_those_before(given: Any) -> None:
    for key, got in given["scan"].items():
        x = np.arange(32 * int(key)) * 37 % 101
        assert got == (np.cumsum(x) - x).tolist(), key


@pytest.mark.dsl
def test_choices_get_rows_in_order(given: Any) -> None:
    assert len(given["slots"]) == 7
    for key, (ids, counts, offsets, slots) in given["slots"].items():
        _, first, local, experts, pad, *_ = map(int, key.split())
        want, at = [-1] * len(ids), 0
        for e in range(experts):
            mine = [i for i, chosen in enumerate(ids) if chosen == e and first <= e < first + local]
            assert (counts[e], offsets[e]) == (len(mine), at), key
            for k, i in enumerate(mine):
                want[i] = at + k
            at += -(-len(mine) // pad) * pad
        assert offsets[experts] == at, key
        assert slots == want, key


@pytest.mark.dsl
def test_a_row_goes_to_its_slots_and_unused_rows_are_zeroed(given: Any) -> None:
    assert len(given["scatter"]) == 4
    for key, got in given["scatter"].items():
        x = np.arange(3 * int(key)).reshape(3, int(key)).astype(np.float16)
        want = np.full((32, int(key)), -1, np.float16)
        want[2:20] = want[20:24] = want[26:30] = 0
        want[[0, 24]], want[25], want[1] = x[0], x[1], x[2]
        assert got == want.tolist(), key


def test_a_launch_is_chosen_by_how_many_blocks_there_are() -> None:
    model = (256, 8, 64, False)
    chosen = {
        tokens: dispatch_plan("", tokens, 896, model, 132)
        for tokens in (1, 33, 34, 66, 67, 132, 133, 512, 513)
    }
    assert {tokens: (plan, vectors) for tokens, (plan, _, vectors, _) in chosen.items()} == {
        1: ("fused", 1), 33: ("fused", 1), 34: ("fused", 2), 66: ("fused", 2), 67: ("fused", 4),
        132: ("fused", 4), 133: ("two launches", 4),
        512: ("two launches", 4), 513: ("two launches", 4),
    }  # fmt: skip
    assert chosen[512][3] == (32, 1) and chosen[513][3] == (32, 8)
    more = (256, 16, 64, False)
    assert [dispatch_plan("", n, 896, more, 132)[0] for n in (128, 129, 133)] == [
        "fused",
        "barrier",
        "two launches",
    ]
    for plan in ("fused", "barrier", "two launches"):
        assert dispatch_plan(plan, 1, 896, model, 132)[0] == plan
    assert dispatch_plan("fused", 512, 896, model, 132)[0] == "fused"
    with pytest.raises(ValueError, match="133 blocks"):
        dispatch_plan("barrier", 133, 896, model, 132)
    with pytest.raises(ValueError, match="4104 choices"):
        dispatch_plan("fused", 513, 896, model, 132)


def test_a_launch_fits_what_blocks_have() -> None:
    assert [dispatch_plan("", 999, 8, (n, 1, 1, False), 132)[3][0] for n in (287, 288, 512)] == [32, 16, 16]
    assert [dispatch_plan("", 999, n, (8, 1, 1, False), 132)[1:3] for n in (3, 33, 128, 129, 513, 9999)] == [
        (32, 1), (64, 1), (128, 1), (256, 2), (256, 4), (256, 4),
    ]  # fmt: skip
    assert dispatch_plan("", 999, 896, (8, 1, 1, False), 132, (128, 8))[1:3] == (128, 8)
