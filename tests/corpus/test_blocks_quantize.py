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
