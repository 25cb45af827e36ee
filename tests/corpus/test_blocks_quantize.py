"""The blocks of quantisation alone, in the emulator, beside numpy."""

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
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_quantize"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", tmp_path_factory.mktemp("dump")), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def e4m3_values() -> np.ndarray:
    """What each of the 128 codes without a sign means."""
    bits = np.arange(128)
    exponent, mantissa = bits >> 3, (bits & 7) / 8
    value = np.where(exponent > 0, (1 + mantissa) * 2.0 ** (exponent - 7.0), mantissa * 2.0**-6)
    value[127] = np.nan
    return value


def nearest_e4m3(x: np.ndarray) -> np.ndarray:
    """The code nearest to each number, by distance to all of them; the even one of two."""
    apart = np.abs(np.minimum(np.abs(x), 448.0)[:, None] - e4m3_values()[None, :127])
    least = apart.min(axis=1, keepdims=True)
    code = np.argmin(np.where(apart == least, np.arange(127) % 2, 2), axis=1)
    return np.where(np.isnan(x), 0x7F, code | np.signbit(x) << 7)


@pytest.mark.dsl
@pytest.mark.parametrize("way", ["e4m3 1", "e4m3 2", "e4m3 4", "e4m3 8", "number 1"])
def test_e4m3_is_the_nearest_code_and_reads_back(given: Any, way: str) -> None:
    x = np.array([float(v) for v in given["x"]])
    codes, back = given[way]
    assert codes == nearest_e4m3(x).tolist()
    value = e4m3_values()[np.array(codes) & 0x7F] * np.where(np.array(codes) > 127, -1, 1)
    assert [repr(float(v)) for v in value] == back
    assert set(codes) >= set(range(127)) | set(range(128, 255)) | {127}


@pytest.mark.dsl
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_int8_is_the_nearest_integer(given: Any, width: int) -> None:
    x = np.array([float(v) for v in given["x"]])
    for way, low, high in (("saturating", -128, 127), ("int8", -127.0, 127.0)):
        codes, back = given[f"{way} {width}"]
        whole = np.nan_to_num(np.round(np.clip(x, low, high)), nan=0.0)
        assert np.array(codes, np.uint8).view(np.int8).tolist() == whole.tolist(), way
        assert [float(v) for v in back] == whole.tolist(), way


def rows(count: int, lanes: int) -> np.ndarray:
    """As block_kernels_quantize makes them, (count, lanes · 4)."""
    y = (np.arange(count * lanes * 4) * 37 % 101 / 64).astype(np.float32).reshape(count, lanes * 4)
    for r in range(count):
        y[r, (r * 53 + lanes * 4 - 3) % (lanes * 4)] = (5 + r) * (-1) ** r
    if count > 1:
        y[1] = 0
    if count > 3:
        y[-1, 5] = np.nan
    return y


@pytest.mark.dsl
def test_the_largest_magnitude_of_a_row_reaches_all_its_lanes(given: Any) -> None:
    assert len(given["most"]) == 6
    for key, got in given["most"].items():
        lanes, threads = map(int, key.split())
        want = np.maximum(np.abs(rows(threads // lanes, lanes)).max(axis=1), np.float32(0.125))
        assert repr(got) == repr(np.repeat(want, lanes).tolist()), key
    assert np.isnan(given["most"]["4 32"][-1]) and given["most"]["4 32"][4] == 0.125


@pytest.mark.dsl
def test_codes_and_scales_come_from_one_factor(given: Any) -> None:
    chance = np.random.default_rng(5)
    most = (2.0 ** chance.integers(-9, 9, 64) * chance.uniform(1, 2, 64)).astype(np.float32)
    x = (most[:, None] * chance.uniform(-1.5, 1.5, (64, 4))).astype(np.float32)
    for kind, saturate, largest in (("e4m3", False, 448), ("int8", False, 127), ("int8", True, 127)):
        codes, scale = given["codes"][f"{kind} {saturate}"]
        value = x if saturate else np.clip(x, -most[:, None], most[:, None])
        product = value * (np.float32(largest) / most)[:, None]
        assert scale == (most / np.float32(largest)).tolist()
        if kind == "e4m3":
            assert codes == nearest_e4m3(product.ravel().astype(np.float64)).reshape(64, 4).tolist()
        else:
            whole = np.clip(np.round(product), -128, 127)
            assert np.array(codes, np.uint8).view(np.int8).tolist() == whole.tolist()
