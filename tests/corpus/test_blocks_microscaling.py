"""Blocks of fp4 codes, E8M0 scales and their places, each alone in the emulator, beside tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus.blocks.scale_place import padded
from tests.corpus.microscaling_oracle import SINGLES, absmax_inputs, all_halves, e2m1, e8m0
from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
INPUTS = {**all_halves(), "f32": SINGLES}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    out, dump = tmp_path_factory.mktemp("out") / "given.npz", tmp_path_factory.mktemp("dump")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_microscaling", str(out)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", dump), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return np.load(out)


def test_the_oracle_knows_the_format() -> None:
    x = np.array(
        [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 0.26, 5.01, 6, 1e9, -0.1, -0.0, -7, np.nan], np.float32
    )
    assert e2m1(x).tolist() == [0, 2, 2, 4, 4, 6, 6, 1, 7, 7, 7, 8, 8, 15, 7]
    most = np.array([448, 449, 256, 0, 1, np.inf, np.nan], np.float32)
    assert e8m0(most, 8, True).tolist() == [127, 128, 127, 0, 119, 254, 255]
    assert e8m0(most, 8, False).tolist() == [127, 127, 127, 0, 119, 254, 255]


@pytest.mark.dsl
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_fp4_codes_are_those_of_the_table(given: Any, name: str, factor: float) -> None:
    words = given[f"e2m1 {name} {factor}"]
    codes = (words[:, None] >> np.arange(0, 32, 4) & 15).ravel()
    with np.errstate(invalid="ignore"):
        want = e2m1(INPUTS[name] * np.float32(factor))
    wrong = np.flatnonzero(codes != want)
    assert not len(wrong), (INPUTS[name][wrong[:5]], codes[wrong[:5]], want[wrong[:5]])


@pytest.mark.dsl
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("up", [False, True])
def test_scales_are_those_of_the_table(given: Any, name: str, bits: int, up: bool) -> None:
    codes, inverse = given[f"e8m0 {name} {bits} {int(up)}"], given[f"inverse {name} {bits} {int(up)}"]
    with np.errstate(invalid="ignore"):
        want = e8m0(np.abs(INPUTS[name]), bits, up)
    wrong = np.flatnonzero(codes != want)
    assert not len(wrong), (INPUTS[name][wrong[:5]], codes[wrong[:5]], want[wrong[:5]])
    assert (inverse == 2.0 ** (127.0 - np.minimum(codes, 254))).all()


@pytest.mark.dsl
def test_the_largest_magnitude_of_a_group(given: Any) -> None:
    for key in given.files:
        if not key.startswith("absmax"):
            continue
        _, name, share, lanes = key.split()
        x = absmax_inputs(int(share)).reshape(32, -1)
        if name == "f16":
            x = x.astype(np.float16).astype(np.float32)
        if name == "bf16":
            x = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
        x[3] = 0
        most = np.abs(x).max(1).reshape(-1, int(lanes)).max(1)
        assert np.array_equal(given[key], np.repeat(most, int(lanes)), equal_nan=True), key


@pytest.mark.dsl
def test_scales_lie_by_rows_or_in_tiles(given: Any) -> None:
    for key in given.files:
        if not key.startswith("place"):
            continue
        _, rows, groups, tiles = key.split()
        scales = np.arange(int(rows))[:, None] * 7 + np.arange(int(groups)) * 3
        if tiles == "1":
            # (row of tiles, quarter, row of 32, tile, group) → tiles whole, rows of 32, quarters, groups
            cut = scales.reshape(int(rows) // 128, 4, 32, int(groups) // 4, 4)
            scales = cut.transpose(0, 3, 2, 1, 4)
        assert (given[key] == scales.ravel() % 256).all(), key


@pytest.mark.dsl
def test_a_patch_goes_along_four_groups_then_down_its_rows(given: Any) -> None:
    keys = [k for k in given if k.startswith("patch ")]
    assert len(keys) == 4
    for key in keys:
        parts, wide, tall = map(int, key.split()[1:])
        units = np.arange(32 * parts)
        if tall == 1:
            row, part = np.divmod(units, parts)
        else:  # rows of patches, patches, rows of one, shares of one
            patches = units.reshape(-1, parts // wide, tall, wide)
            found = np.argsort(patches.transpose(0, 2, 1, 3).ravel())
            row, part = np.divmod(found, parts)
        assert given[key].tolist() == [row.tolist(), part.tolist()], key


def test_only_tiles_are_padded() -> None:
    assert [padded(n, 128, True) for n in (1, 128, 129)] == [128, 128, 256]
    assert padded(5, 4, False) == 5
