"""active_lanes alone: everybody who wants a place has one of their own, lanes that are there ask together."""

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
THREADS = 96
ODD = 0xAAAAAAAA


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_lanes"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", tmp_path_factory.mktemp("dump")), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def wants(name: str) -> Any:
    thread = np.arange(THREADS)
    return {
        "none": thread < 0, "all": thread >= 0, "odd": thread % 2 == 1, "one": thread == 37,
        "last lanes": thread % 32 > 29, "mixed": thread * thread % 7 < 3,
    }[name]  # fmt: skip


@pytest.mark.dsl
def test_places_of_a_warp_are_neighbours_in_the_order_of_lanes(given: Any) -> None:
    assert len(given["claims"]) == 18
    for key, (places, masks, count, additions) in given["claims"].items():
        name, how = key.split("/")
        want, start = wants(name), 0 if how == "shared" else 1000
        places = np.array(places)
        assert count == start + want.sum(), key
        assert (places[~want] == -1).all(), key
        assert sorted(places[want]) == list(range(start, count)), key
        assert additions == want.reshape(3, 32).any(axis=1).sum(), key  # one for all lanes of a warp
        for warp in range(3):
            lanes = slice(32 * warp, 32 * warp + 32)
            mine = places[lanes][want[lanes]]
            assert (mine == mine[:1] + np.arange(len(mine))).all(), key
            mask = sum(1 << k for k in np.flatnonzero(want[lanes]).tolist())
            told = {m % (1 << 32) for m in np.array(masks)[lanes][want[lanes]].tolist()}
            assert told <= {mask}, key


@pytest.mark.dsl
def test_lanes_that_leave_a_loop_are_not_waited_for(given: Any) -> None:
    places, count = given["rounds"]
    want = np.arange(THREADS) * 5 % 6
    places = np.array(places)
    inside = np.arange(5)[:, None] < want
    assert count == want.sum() and (places[~inside] == -1).all()
    assert sorted(places[inside]) == list(range(count))


@pytest.mark.dsl
def test_a_branch_is_asked_about_in_it(given: Any) -> None:
    first, second = given["twice"][:THREADS], given["twice"][THREADS:]
    assert first == [0xFFFFFFFF] * THREADS
    assert second == [ODD if thread % 2 else 0 for thread in range(THREADS)]
    # Why the block is PTX. Once the DSL asks twice as well, cute.arch.activemask can be used.
    assert given["asked"] == {"False": 2, "True": 1}
