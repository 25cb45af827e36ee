"""Approximate opcodes: PTX's special values, its documented errors, and the jitter that stays within them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.single.cases import Case, Slots, cases, inputs
from tests.emulator.single.native import build, run
from tests.emulator.single.tolerance import bound, differs, values

CHOSEN = [case for case in cases() if case.op.approximate]
KEYS = {case.key: number for number, case in enumerate(CHOSEN)}

INF, NEG_INF, NAN = 0x7F800000, 0xFF800000, 0x7FFFFFFF
ZERO, NEG_ZERO, ONE, TINY, NEG_TINY = 0, 0x80000000, 0x3F800000, 1, 0x80000001

Libraries = dict[str, ctypes.CDLL]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    """`plain`, and `jitter`, which moves results."""
    found: Libraries = {}
    for name, flags in (("plain", ("-O1",)), ("jitter", ("-O1", "-DJITTER"))):
        folder: Path = tmp_path_factory.mktemp(name)
        found[name] = build(CHOSEN, folder, flags)
    return found


def one(libraries: Libraries, key: str, *operands: int) -> int:
    number = KEYS[key]
    return int(run(libraries["plain"], number, CHOSEN[number], np.array([operands], dtype=np.uint64))[0, 0])


@pytest.mark.parametrize(
    ("key", "operands", "result"),
    [
        ("rcp.approx.f32", (ZERO,), INF),
        ("rcp.approx.f32", (NEG_ZERO,), NEG_INF),
        ("rcp.approx.f32", (NEG_INF,), NEG_ZERO),
        ("rcp.approx.f32", (INF,), ZERO),
        ("rcp.approx.f32", (0x7F812345,), NAN),
        ("rcp.approx.f32", (0x7F000000,), 0x00400000),
        ("rcp.approx.ftz.f32", (0x7F000000,), ZERO),
        ("rcp.approx.ftz.f32", (TINY,), INF),
        ("rcp.approx.ftz.f32", (NEG_TINY,), NEG_INF),
        ("sqrt.approx.f32", (NEG_INF,), NAN),
        ("sqrt.approx.f32", (0xBF800000,), NAN),
        ("sqrt.approx.f32", (NEG_ZERO,), NEG_ZERO),
        ("sqrt.approx.f32", (INF,), INF),
        ("sqrt.approx.ftz.f32", (NEG_TINY,), NEG_ZERO),
        ("rsqrt.approx.f32", (NEG_INF,), NAN),
        ("rsqrt.approx.f32", (NEG_ZERO,), NEG_INF),
        ("rsqrt.approx.f32", (ZERO,), INF),
        ("rsqrt.approx.f32", (INF,), ZERO),
        ("rsqrt.approx.ftz.f32", (NEG_TINY,), NEG_INF),
        ("sin.approx.f32", (INF,), NAN),
        ("sin.approx.f32", (NEG_ZERO,), NEG_ZERO),
        ("cos.approx.f32", (NEG_INF,), NAN),
        ("cos.approx.f32", (NEG_ZERO,), ONE),
        ("lg2.approx.f32", (NEG_INF,), NAN),
        ("lg2.approx.f32", (NEG_TINY,), NAN),
        ("lg2.approx.f32", (NEG_ZERO,), NEG_INF),
        ("lg2.approx.f32", (TINY,), 0xC3150000),
        ("lg2.approx.ftz.f32", (NEG_TINY,), NEG_INF),
        ("lg2.approx.f32", (INF,), INF),
        ("ex2.approx.f32", (NEG_INF,), ZERO),
        ("ex2.approx.f32", (NEG_ZERO,), ONE),
        ("ex2.approx.f32", (INF,), INF),
        ("ex2.approx.f32", (0xC2FE0000,), 0x00400000),
        ("ex2.approx.ftz.f32", (0xC2FE0000,), ZERO),
        ("ex2.approx.f32", (0x43000000,), INF),
        ("tanh.approx.f32", (NEG_INF,), 0xBF800000),
        ("tanh.approx.f32", (NEG_ZERO,), NEG_ZERO),
        ("div.approx.f32", (ONE, 0x7F000000), ZERO),
        ("div.approx.f32", (0xBF800000, 0x7F000000), NEG_ZERO),
        ("div.approx.f32", (INF, 0x7F000000), NAN),
        ("div.full.f32", (ONE, 0x7F000000), 0x00400000),
        ("div.full.f32", (INF, 0x7F000000), INF),
        ("div.full.f32", (ZERO, ZERO), NAN),
        ("ex2.approx.f16", (0xFC00,), 0),
        ("ex2.approx.f16", (0x8000,), 0x3C00),
        ("ex2.approx.ftz.bf16", (0xFF80,), 0),
        ("tanh.approx.f16x2", (0xFC007C00,), 0xBC003C00),
        ("rcp.approx.ftz.f64", (0,), 0x7FF0000000000000),
        ("rcp.approx.ftz.f64", (1 << 63 | 1,), 0xFFF0000000000000),
        ("rsqrt.approx.f64", (1 << 63,), 0xFFF0000000000000),
    ],
)
def test_special_values(libraries: Libraries, key: str, operands: tuple[int, ...], result: int) -> None:
    assert one(libraries, key, *operands) == result


FUNCTIONS: dict[str, Callable[..., float]] = {
    "rcp": lambda x: 1 / x,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sin": math.sin,
    "cos": math.cos,
    "lg2": math.log2,
    "ex2": lambda x: 2.0**x,
    "tanh": math.tanh,
    "div": lambda x, y: x / y,
}


def ordinary(case: Case) -> tuple[Slots, list[list[float]]]:
    """Operands between 1/16 and 16, as slots and as numbers."""
    kind = case.results[0].type
    count = len(case.sources)
    numbers = np.exp2(np.linspace(-4, 4, 301))
    if kind == "f64":  # rcp and rsqrt read the upper half
        bits = numbers.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)
    elif kind.startswith("bf16"):
        bits = (numbers.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint64)
    else:
        narrow = np.float32 if kind == "f32" else np.float16
        bits = numbers.astype(narrow).view(np.uint32 if kind == "f32" else np.uint16).astype(np.uint64)
    given = np.stack([bits, bits[::-1]][:count], axis=1)
    if kind.endswith("x2"):
        kind = kind[:-2]
    return np.ascontiguousarray(given), [values(given[:, i].copy(), kind).tolist() for i in range(count)]


@pytest.mark.parametrize("key", list(KEYS))
@pytest.mark.parametrize("library", ["plain", "jitter"])
def test_results_are_within_the_documented_error(libraries: Libraries, key: str, library: str) -> None:
    number = KEYS[key]
    case = CHOSEN[number]
    kind = case.results[0].type
    given, numbers = ordinary(case)
    got = run(libraries[library], number, case, given)[:, 0]
    if kind.endswith("x2"):
        kind = kind[:-2]
        got = got & np.uint64(0xFFFF)
    want = np.array([FUNCTIONS[key.split(".")[0]](*row) for row in zip(*numbers, strict=True)])
    largest = {"f32": 3e38, "f64": 1e308, "f16": 65504.0, "bf16": 3e38}[kind]
    fits = np.abs(want) < largest
    half_ulp = np.abs(want) * {"f32": 2.0**-24, "f64": 2.0**-53, "f16": 2.0**-11, "bf16": 2.0**-8}[kind]
    error = np.abs(values(got, kind) - want)
    assert (error <= bound(case.op.approximate, kind, np.abs(want)) + half_ulp)[fits].all()
    if library == "plain" and kind != "f64":
        assert (error <= half_ulp * 1.001 + 2.0**-25)[fits].all()


def test_jitter_moves_most_results_and_is_a_function_of_seed_and_operands(libraries: Libraries) -> None:
    library = libraries["jitter"]
    seed = ctypes.c_uint64.in_dll(library, "jitter_seed")
    for key in (
        "ex2.approx.ftz.f32",
        "rsqrt.approx.f32",
        "tanh.approx.f32",
        "sin.approx.f32",
        "div.full.f32",
    ):
        number = KEYS[key]
        case = CHOSEN[number]
        given, _ = ordinary(case)
        plain = run(libraries["plain"], number, case, given)
        results = []
        for value in (7, 8, 7):
            seed.value = value
            results.append(run(library, number, case, given))
        assert (results[0] == results[2]).all()
        assert (results[0] != results[1]).mean() > 0.3
        assert (results[0] != plain).mean() > 0.3


def test_jitter_leaves_special_values(libraries: Libraries) -> None:
    case = CHOSEN[KEYS["ex2.approx.f32"]]
    given = np.array([[INF], [NEG_INF], [NAN]], dtype=np.uint64)
    assert run(libraries["jitter"], KEYS["ex2.approx.f32"], case, given)[:, 0].tolist() == [INF, ZERO, NAN]


def test_the_comparison_of_approximations_can_fail() -> None:
    case = CHOSEN[KEYS["ex2.approx.f32"]]
    exact = np.full((3, 1), 0x40490FDB, dtype=np.uint64)
    near, far, nan = exact + np.uint64(2), exact + np.uint64(8), exact * np.uint64(0) + np.uint64(NAN)
    assert not differs(case, exact, near).any()
    assert differs(case, exact, far).all()
    assert differs(case, exact, nan).all()
    assert not differs(case, nan, nan - np.uint64(1)).any()


def test_inputs_cover_edges_and_stay_the_same() -> None:
    """Recorded outputs depend on these inputs: a change here makes a new recording necessary."""
    case = next(c for c in cases() if c.key == "div.rn.f32")
    given = inputs(case)
    assert given.shape == (512, 2)
    assert given[:3].tolist() == FIRST_INPUTS
    for edge in (0, 0x80000000, 1, 0x007FFFFF, 0x7F7FFFFF, INF, NEG_INF, 0x7FC00000):
        assert (given[:, 0] == edge).any()
        assert (given[:, 1] == edge).any()


FIRST_INPUTS = [[0xBAE83E7E, 0xDF000000], [0x38D447EC, 0xB8B79E28], [0x4F800000, 0x3A1A60E1]]
