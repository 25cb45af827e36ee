"""Blocks for what a source takes from a library: by a table whose every name exists."""

from __future__ import annotations

import pytest

from translator.grounding.blocks import corpus_blocks
from translator.loop.blocks import _table as table
from translator.loop.blocks import blocks_for, fitting


@pytest.mark.parametrize(
    ("cuda", "names"),
    [
        ("typedef cub::BlockScan<int, 128> Scan;", ["block_scan"]),
        ("cub::WarpReduce<float>(t).Reduce(x, cub::Max())", ["lane_reduce"]),
        ("float s = cg::reduce(tile, v, cg::plus<float>()); // BlockScan", ["lane_reduce"]),
        ("cg::this_grid().sync();", ["grid_barrier"]),
        ('asm("cp.async.ca.shared.global [%0], [%1], 16;");', ["async_copy"]),
        ("y[i] = x[i];", []),
    ],
)
def test_what_is_shown(cuda: str, names: list[str]) -> None:
    assert blocks_for(cuda) == names


def test_every_block_of_the_table_is_there() -> None:
    held = corpus_blocks()
    assert [n for _, names in table() for n in names if held.read(n) is None] == []


def test_words_find_blocks() -> None:
    assert "block_scan" in fitting(corpus_blocks(), "exclusive scan over a block", 3)
    assert fitting(corpus_blocks(), "zzzz", 3) == []
