"""A fixed number of random kernels; `python -m tests.differential.fuzz` runs as many as wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.fuzz import run
from tests.differential.generator import source

SEEDS = range(24)


@pytest.mark.dsl
def test_random_kernels_are_those_of_cpp(tmp_path: Path) -> None:
    found = run(SEEDS, tmp_path)
    assert {kernel: o for kernel, o in found.items() if o.status != "equal"} == {}
    assert len(found) == len(SEEDS)


def test_a_seed_gives_one_program() -> None:
    assert source(range(3)) == source(range(3))
    assert source(range(1)) != source(range(1, 2))
