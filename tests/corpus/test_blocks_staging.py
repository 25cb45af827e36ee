"""async_copy and dependent_launch alone: rings of stages, mbarriers, kernels that start early."""

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
THREADS, STEPS, STAGES = 32, 7, 3


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_staging"],
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
def test_copies_of_any_size_pass_through_a_ring_and_what_does_not_exist_is_zero(given: Any) -> None:
    assert len(given["ring"]) == 10
    for key, (x, out) in given["ring"].items():
        # Where fewer steps exist than are swept, the rest lies beyond the memory: reading it would be told.
        assert len(x) * STEPS == len(out) * int(key.split()[1]), key
        assert out == x + [0] * (len(out) - len(x)), key


@pytest.mark.dsl
def test_a_group_that_nobody_waited_for_is_not_there_yet(given: Any) -> None:
    # One group more is allowed to be under way than may be: each slot still holds what it held before.
    held = [77] * STAGES + [THREADS * (step - STAGES) for step in range(STAGES, STEPS)]
    assert given["late"] == held


@pytest.mark.dsl
def test_a_block_reads_what_all_its_threads_copied_once_the_mbarrier_turns(given: Any) -> None:
    x = np.arange(128).reshape(2, 64)
    x[:, 5] = 0
    assert given["mbarrier"]["copies"] == x[:, ::-1].ravel().tolist()
    assert given["mbarrier"]["unwaited"] == "CP8005"
    assert given["mbarrier"]["bulk"] == list(range(63, -1, -1))


@pytest.mark.dsl
def test_kernels_that_start_early_wait_before_they_read(given: Any) -> None:
    x = np.arange(64.0)
    for _ in range(3):
        x = x[::-1] * 2 + 1
    plain, early = given["chain"]["False"], given["chain"]["True"]
    assert plain[0] == early[0] == x.tolist()
    assert plain[1:] == [["ld.global", "st.global"] * 3, 0]
    one = ["griddepcontrol.wait", "griddepcontrol.launch_dependents", "ld.global", "st.global"]
    assert early[1:] == [one * 3, 3]  # and all three launches ask for it
