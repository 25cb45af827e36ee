"""e5m2_convert and e2m1_expand alone: every code, beside tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
MAGNITUDES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)


def child(arch: str, argument: str, dump: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_fp8", argument],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env(arch, dump), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("out") / "given.npz"
    child("sm_90a", str(out), tmp_path_factory.mktemp("dump"))
    return np.load(out)


def e5m2_values() -> np.ndarray:
    """What each of the 128 codes without a sign means."""
    bits = np.arange(128)
    exponent, mantissa = bits >> 2, (bits & 3) / 4
    value = np.where(exponent > 0, (1 + mantissa) * 2.0 ** (exponent - 15.0), mantissa * 2.0**-14)
    value[124], value[125:] = np.inf, np.nan
    return value


def nearest_e5m2(x: np.ndarray) -> np.ndarray:
    """The code nearest to each number, by distance to all that are finite; the even one of two."""
    apart = np.abs(np.minimum(np.abs(x), 57344.0)[:, None] - e5m2_values()[None, :124])
    least = apart.min(axis=1, keepdims=True)
    code = np.argmin(np.where(apart == least, np.arange(124) % 2, 2), axis=1)
    return np.where(np.isnan(x), 0x7F, code | np.signbit(x) << 7)


def meant(codes: Any) -> Any:
    return (e5m2_values()[codes & 0x7F] * np.where(codes > 127, -1, 1)).astype(np.float32)


@pytest.mark.dsl
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_e5m2_is_the_nearest_code_and_reads_back(given: Any, width: int) -> None:
    x, codes, back = given["x"].astype(np.float64), given[f"codes {width}"], given[f"back {width}"]
    assert np.array_equal(codes, nearest_e5m2(x))
    assert np.array_equal(back, meant(codes), equal_nan=True)
    assert np.array_equal(np.signbit(back), codes > 127)
    # Infinities are never made: what is too large becomes the largest number.
    assert set(codes.tolist()) == {*range(124), *range(128, 252), 127}


@pytest.mark.dsl
def test_every_e5m2_is_read(given: Any) -> None:
    assert np.array_equal(given["every"], meant(np.arange(256)), equal_nan=True)


@pytest.mark.dsl
def test_every_e2m1_is_read_in_its_order(given: Any) -> None:
    codes = given["words"][:, None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15
    want = MAGNITUDES[codes & 7] * np.where(codes > 7, np.float32(-1), np.float32(1))
    assert np.array_equal(given["e2m1"].view(np.uint32), want.view(np.uint32))  # signs of zeros too
    assert all(len(np.unique(codes[:, k])) == 16 for k in range(8))


@pytest.mark.dsl
def test_sm_100_reads_e2m1_by_instruction(tmp_path: Path) -> None:
    ptx = child("sm_100a", "sm_100", tmp_path)
    assert ptx.count("cvt.rn.f16x2.e2m1x2") == 4 and "fma.rn.f16x2" not in ptx
