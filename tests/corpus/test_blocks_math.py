"""packed_math and fast_math alone: all 16-bit patterns beside exact arithmetic, fp32 beside fp64."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emulator.single.cases import cases, inputs
from tests.emulator.single.record import RECORDED, read
from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = ("add", "sub", "mul", "fma", "max", "min", "max_nan", "min_nan")
# name: exact value, error of the exact form in ulp, of the fast one as share of the result, opcode of that
FUNCTIONS = {
    "exp2": (np.exp2, 2.0, 2.0**-22, "ex2.approx.ftz.f32"),
    "reciprocal": (lambda x: 1 / x, 0.5, 2.0**-23, "rcp.approx.ftz.f32"),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5, 2.0**-22.9, "rsqrt.approx.ftz.f32"),
    "tanh": (np.tanh, 2.0, 2.0**-11, "tanh.approx.f32"),
}
TINY = 2.0**-126
QUIET = {"divide": "ignore", "invalid": "ignore", "over": "ignore", "under": "ignore"}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("dump")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_math", str(folder / "told.npz")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", folder), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return np.load(folder / "told.npz")


def halves(words: Any) -> Any:
    """Both 16-bit patterns of each word, low ones first."""
    w = words.view(np.uint32)
    return np.concatenate([w & 0xFFFF, w >> 16], axis=-1).astype(np.uint16)


def wide(bits: Any, name: str) -> Any:
    """16-bit patterns as fp64."""
    if name == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def odd(x: Any, error: Any) -> Any:
    """x with its last bit set where the exact x + error is no fp64: rounding again is then right."""
    even = (x.view(np.uint64) & 1) == 0
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where((error != 0) & even & np.isfinite(x), np.nextafter(x, toward), x)


def narrow(x: Any, name: str) -> Any:
    """fp64 as 16-bit patterns, nearest even; NaN is 0x7FFF."""
    if name == "f16":
        bits = x.astype(np.float16).view(np.uint16)
    else:
        f = x.astype(np.float32)
        even = (f.view(np.uint32) & 1) == 0
        inexact = even & (f.astype(np.float64) != x) & np.isfinite(x)
        toward = np.where(np.abs(f) > np.abs(x), 0, np.copysign(np.inf, x)).astype(np.float32)
        w = np.where(inexact, np.nextafter(f, toward), f).view(np.uint32).astype(np.uint64)
        bits = ((w + 0x7FFF + (w >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FFF), bits)


def wanted(operation: str, name: str, a: Any, b: Any, c: Any) -> Any:
    """16-bit patterns of an operation on patterns."""
    x, y, z = (wide(v, name) for v in (a, b, c))
    if operation in ("add", "sub", "mul", "fma"):
        if operation == "mul":
            return narrow(x * y, name)
        p, q = {"add": (x, y), "sub": (x, -y), "fma": (x * y, z)}[operation]
        s = p + q
        t = s - p  # what s lacks: exact where all is finite
        error = (p - (s - t)) + (q - t)
        return narrow(odd(s, np.where(np.isfinite(s), error, 0)), name)
    larger, nan = operation.startswith("max"), operation.endswith("nan")
    key_a, key_b = (np.where(np.signbit(v), -1.0, 1.0) * 1e-300 + v for v in (x, y))  # -0 < 0
    first = np.isnan(y) | (key_a > key_b if larger else key_a < key_b) & ~np.isnan(x)
    picked = np.where(first, a, b)
    none = (np.isnan(x) | np.isnan(y)) if nan else (np.isnan(x) & np.isnan(y))
    return np.where(none, np.uint16(0x7FFF), picked)


@pytest.mark.dsl
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_both_halves_are_computed_as_by_exact_arithmetic(given: Any, name: str) -> None:
    a, b, c = halves(given[f"{name} words"])
    assert len(np.unique(a)) == 1 << 16
    with np.errstate(**QUIET):
        for k, operation in enumerate(OPERATIONS):
            got, want = halves(given[f"{name} out"][k]), wanted(operation, name, a, b, c)
            bad = np.flatnonzero(got != want)[:4]
            assert not len(bad), (operation, [[hex(v[i]) for v in (a, b, c, got, want)] for i in bad])


@pytest.mark.dsl
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_fp32_pairs_become_words_and_words_fp32(given: Any, name: str) -> None:
    x = given[f"{name} floats"].ravel()
    nearest, cut = (halves(given[f"{name} out"][len(OPERATIONS) + k]) for k in range(2))
    with np.errstate(**QUIET):
        want = narrow(x.astype(np.float64), name)
        assert np.array_equal(nearest, want)
        beyond = np.abs(wide(want, name)) > np.abs(x.astype(np.float64))
        assert np.array_equal(cut, want - beyond)  # one pattern towards zero
        assert beyond.mean() > 0.1
        low = halves(given[f"{name} words"][0])
        got, want = given[f"{name} back"].ravel(), wide(low, name).astype(np.float32)
        assert np.array_equal(got, want, equal_nan=True)
        zero = want == 0
        assert np.array_equal(np.signbit(got)[zero], np.signbit(want)[zero])


def shares(x: Any, got: Any, function: Any) -> Any:
    """Errors as shares of the exact results, where those and x are normal numbers."""
    want = function(x.astype(np.float64))
    normal = (np.abs(x) >= TINY) & (np.abs(want) >= TINY) & (np.abs(want) < 3.4e38)
    return np.where(normal, np.abs(got - want) / np.abs(want), 0)


@pytest.mark.dsl
def test_exact_and_fast_forms_keep_to_their_errors(given: Any) -> None:
    x = given["x"]
    with np.errstate(**QUIET):
        for k, (name, (function, ulps, share, opcode)) in enumerate(FUNCTIONS.items()):
            exact, fast = given["fast"][2 * k : 2 * k + 2]
            want = function(x.astype(np.float64))
            rounded = want.astype(np.float32)
            ulp = np.spacing(np.abs(rounded)).astype(np.float64)
            finite = np.isfinite(rounded) & (rounded != 0)
            assert (np.abs(exact - want)[finite] <= ulps * ulp[finite]).all(), name
            special = ~finite
            assert np.array_equal(exact[special], rounded[special], equal_nan=True), name
            assert np.array_equal(np.signbit(exact) | np.isnan(want), np.signbit(rounded) | np.isnan(want)), (
                name
            )
            assert shares(x, fast, function).max() <= share, name
            small = np.abs(x) < (TINY if opcode.endswith(".ftz.f32") else 0)
            flushed = function(np.where(small, np.copysign(0.0, x), x).astype(np.float64))
            outside = ~np.isfinite(flushed) | (flushed == 0)
            assert np.array_equal(fast[outside], flushed[outside], equal_nan=True), name


def test_an_h200_keeps_to_the_errors_of_the_fast_forms() -> None:
    """The recording of single instructions has what a GPU gave; the emulator's own bits say nothing of it."""
    every = {case.op.name: case for case in cases()}
    recorded = read(RECORDED, list(cases()))[0]
    for name, (function, _, share, opcode) in FUNCTIONS.items():
        case = every[opcode]
        x = inputs(case)[:, 0].astype(np.uint32).view(np.float32)
        got = recorded[case.key].rows[:, 0].astype(np.uint32).view(np.float32)
        with np.errstate(**QUIET):
            errors = shares(x[: len(got)], got.astype(np.float64), function)
        assert np.count_nonzero(errors) > 50, name
        assert errors.max() <= share, (name, errors.max() / share)


@pytest.mark.dsl
def test_packed_arithmetic_keeps_no_load_in_its_place(given: Any) -> None:
    ours, bf16, native = given["loads"].tolist()
    assert (ours, bf16) == (1, 1)
    assert native == 2  # why add_packed_f16x2 is not used; once it is 1, it can be
