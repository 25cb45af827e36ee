"""The blocks of rotary embeddings and paged caches alone: where pairs, heads and slots lie."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.blocks.head_groups import certain_heads, group_count, heads_of_thread
from corpus.blocks.rotary_pairs import pair_width
from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
HEADS, HEAD, BLOCKS = 6, 16, 5


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_rope"],
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
def test_pairs_rotate_both_ways_and_the_rest_stays(given: Any) -> None:
    x = np.array(given["x"]).reshape(HEADS, HEAD)
    for key, (table, got) in given["rotated"].items():
        rotary, _, interleaved = json.loads(key)
        turn = np.array(table[: rotary // 2]) + 1j * np.array(table[rotary // 2 :])
        want = x.copy()
        first, second = (
            (slice(0, rotary, 2), slice(1, rotary, 2))
            if interleaved
            else (slice(rotary // 2), slice(rotary // 2, rotary))
        )
        pairs = (x[:, first] + 1j * x[:, second]) * turn
        want[:, first], want[:, second] = pairs.real, pairs.imag
        assert np.array_equal(np.array(got).reshape(HEADS, HEAD), want), key  # small whole numbers are exact


@pytest.mark.dsl
def test_every_vector_of_every_group_has_one_thread(given: Any) -> None:
    assert len(given["places"]) == 3
    for key, seen in given["places"].items():
        assert seen == [1] * len(seen), key


@pytest.mark.dsl
def test_vectors_are_dealt_to_lanes_and_what_a_lane_has_none_of_is_zero(given: Any) -> None:
    assert len(given["chunks"]) == 4
    for key, (out, count) in given["chunks"].items():
        n, lanes = map(int, key.split())
        assert out == [10.0 * k for k in range(1, 4 * n + 1)] + [0.0] * 4, key
        assert count == [4 * len(range(lane, n, lanes)) for lane in range(lanes)], key


@pytest.mark.dsl
def test_rows_lie_at_their_slots_both_ways(given: Any) -> None:
    for key, got in given["caches"].items():
        heads, dim, block_size, gap, heads_first = json.loads(key)
        slot = np.arange(BLOCKS * block_size).reshape(BLOCKS, block_size, 1, 1)
        rows = slot * 1000.0 + np.arange(heads * dim).reshape(heads, dim)
        rows = rows.transpose(0, 2, 1, 3) if heads_first else rows
        want = np.full((BLOCKS, block_size * heads * dim + gap), -1.0)
        want[:, : block_size * heads * dim] = rows.reshape(BLOCKS, -1)
        assert got == want.ravel().tolist(), key


@pytest.mark.parametrize(
    ("bits", "rotary", "interleaved", "facts", "width"),
    [
        (16, 128, False, (128,), (8, 8)),
        (16, 128, True, (128,), (4, 8)),
        (32, 128, False, (128,), (4, 4)),
        (16, 40, False, (128,), (4, 4)),  # halves of 20
        (16, 40, True, (128,), (4, 8)),
        (16, 64, True, (66,), (1, 2)),
        (16, 64, True, (65,), (1, 1)),  # a pair in two accesses
        (16, 64, False, (66,), (2, 2)),
    ],
)
def test_vectors_of_pairs_are_as_wide_as_every_fact_allows(
    bits: int, rotary: int, interleaved: bool, facts: tuple[int, ...], width: tuple[int, int]
) -> None:
    assert pair_width(bits, rotary, interleaved, *facts) == width
    fewer = width if interleaved else (min(2, width[0]), width[1])
    assert pair_width(bits, rotary, interleaved, *facts, most=2) == fewer


@pytest.mark.parametrize(
    ("tokens", "vectors", "elements", "heads", "each"),
    [
        (1, 8, 4, (32, 8), 1),
        (844, 8, 4, (32, 8), 1),  # 844 · 20 · 8 threads are fewer than 32 · 32 · 132
        (845, 8, 4, (32, 8), 2),
        (1689, 8, 4, (32, 8), 2),
        (1690, 8, 4, (32, 8), 4),
        (100000, 8, 1, (128, 1), 4),
        (100000, 8, 4, (128, 1), 4),
        (100000, 8, 5, (128, 1), 2),  # a third and fourth head would be 20 elements
        (100000, 8, 64, (128, 1), 2),
    ],
)
def test_a_thread_has_more_heads_where_warps_are_left(
    tokens: int, vectors: int, elements: int, heads: tuple[int, int], each: int
) -> None:
    assert heads_of_thread(tokens, vectors, elements, 132, *heads) == each


def test_groups_are_counted_and_the_heads_that_all_have() -> None:
    assert [group_count(each, 6, 1) for each in (1, 2, 4)] == [7, 4, 3]
    assert [certain_heads(each, 6, 2) for each in (1, 2, 4)] == [1, 2, 2]
    assert [certain_heads(4, *heads) for heads in ((8, 4), (8, 5), (3, 8))] == [4, 1, 3]
