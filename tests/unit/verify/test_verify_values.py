"""Inputs and tolerance: types that numpy lacks, seeds, and what counts as the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saxpy_target import SPEC

from verify.dtypes import DTYPES, lookup
from verify.inputs import decode, encode, generate, lanes, scalar_bytes, scalar_value, view
from verify.resolve import resolve
from verify.spec import Tolerance
from verify.spec_args import BufferArg
from verify.spec_file import parse_spec
from verify.tolerance import compare

T = Tolerance()


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"])
def test_every_finite_pattern_survives_the_round_trip(name: str) -> None:
    t = lookup(name)
    patterns = np.arange(1 << min(16, 8 * t.size), dtype=f"u{min(2, t.size)}")
    carrier = patterns.view(t.carrier) if t.size <= 2 else patterns.astype(t.carrier)
    values = decode(carrier, t)
    kept = np.isfinite(values) & (values != 0)
    back = encode(values[kept], t)
    assert np.array_equal(decode(back, t), values[kept])


@settings(deadline=None)  # the first example imports torch
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_bf16_rounds_to_nearest_even_as_torch(x: float) -> None:
    import torch

    ours = decode(encode(np.array([x], np.float32), lookup("bf16")), lookup("bf16"))[0]
    theirs = torch.tensor([x], dtype=torch.float32).to(torch.bfloat16).to(torch.float64).item()
    assert ours == theirs


@pytest.mark.parametrize(("ours", "theirs"), [("f8e4m3", "float8_e4m3fn"), ("f8e5m2", "float8_e5m2")])
def test_fp8_patterns_mean_what_torch_says(ours: str, theirs: str) -> None:
    import torch

    patterns = np.arange(256, dtype=np.uint8)
    want = torch.from_numpy(patterns).view(getattr(torch, theirs)).to(torch.float64).numpy()
    assert np.array_equal(decode(patterns, lookup(ours)), want, equal_nan=True)


def test_scalars_wrap_as_in_c() -> None:
    assert scalar_bytes(-1, lookup("u32")) == b"\xff" * 4
    assert scalar_value(-1, lookup("u32")) == 2**32 - 1
    assert scalar_value(2**31, lookup("i32")) == -(2**31)
    assert scalar_bytes(1.0, lookup("bf16")) == b"\x80\x3f"
    assert scalar_value(3, lookup("bool")) is True


def buffers(text: str) -> BufferArg:
    spec = parse_spec(SPEC + f'[[arg]]\nname = "z"\nkind = "buffer"\nelems = 1000\nrole = "in"\n{text}\n')
    (arg,) = (a for a in spec.buffers if a.name == "z")
    return arg


@pytest.mark.parametrize("name", list(DTYPES))
@pytest.mark.parametrize("init", ["normal", "uniform", "small_int", "zeros", "ones", "arange", "permutation"])
def test_every_type_has_every_init(name: str, init: str) -> None:
    spec = parse_spec(
        SPEC
        + '[[arg]]\nname = "z"\nkind = "buffer"\nelems = 100\nrole = "in"\n'
        + f'dtype = "{name}"\ninit = "{init}"\n'
    )
    made = generate(spec, resolve(spec, spec.case[1]), 3, "spec")
    again = generate(spec, resolve(spec, spec.case[1]), 3, "spec")
    assert len(made["z"]) == 100 * lookup(name).size
    assert np.array_equal(made["z"], again["z"])
    other = generate(spec, resolve(spec, spec.case[1]), 4, "spec")
    assert np.array_equal(made["x"], other["x"]) is False


def test_index_inputs_stay_inside() -> None:
    spec = parse_spec(
        SPEC
        + '[[arg]]\nname = "z"\nkind = "buffer"\nelems = 5000\nrole = "in"\n'
        + 'dtype = "i32"\ninit = "index:n * 2"\n'
    )
    case = resolve(spec, spec.case[2])
    values = generate(spec, case, 0, "large")["z"].view(np.int32)
    assert values.min() >= 0
    assert 2000 < values.max() < 2018


def test_a_permutation_may_begin_below_zero() -> None:
    text = '[[arg]]\nname = "z"\nkind = "buffer"\nelems = 50\nrole = "in"\ndtype = "i64"\n'
    spec = parse_spec(SPEC + text + 'init = "permutation"\nlow = -3\n')
    values = generate(spec, resolve(spec, spec.case[1]), 0, "spec")["z"].view(np.int64)
    assert sorted(values) == list(range(-3, 47))
    assert list(values) != sorted(values)


def test_special_values_only_where_the_spec_leaves_them_free() -> None:
    spec = parse_spec(SPEC.replace('role = "in"', 'role = "in"\ninit = "uniform"\nlow = 1.0\nhigh = 2.0'))
    made = generate(spec, resolve(spec, spec.case[2]), 0, "special")
    x, y = made["x"].view(np.float32), made["y"].view(np.float32)
    assert x.min() >= 1
    assert x.max() < 2
    assert np.isnan(y).any() or np.isinf(y).any()


def made(spec: str, values: str) -> np.ndarray:
    read = parse_spec(spec)
    lane = lanes(next(a for a in read.buffers if a.name == "x"))[0]
    data = generate(read, resolve(read, read.case[-1]), 0, values)["x"]  # type: ignore[arg-type]
    return decode(view(data, lane), lane.dtype)


def test_edge_values_are_ordered_tied_or_next_to_zero() -> None:
    rising, few, tiny = (made(SPEC, v) for v in ("rising", "few", "tiny"))
    assert (np.diff(rising) >= 0).all() and rising[-1] > 1e5 and rising[0] < -1e5
    assert set(few) == {-0.5, 0.25, 0.5}
    half, brain = (made(SPEC.replace("float32", t), "rising")[-1] for t in ("float16", "bfloat16"))
    assert 1e3 < half < 65504 < brain < 1e6  # none of them infinite
    assert 0 < np.abs(tiny).max() < 2.0**-126


def test_edge_values_keep_to_the_domain() -> None:
    bounded = SPEC.replace('role = "in"', 'role = "in"\nlow = -2\nhigh = 6\ninit = "uniform"')
    rising, few = made(bounded, "rising"), made(bounded, "few")
    assert (rising[0], rising[-1]) == (-2, 6) and (np.diff(rising) >= 0).all()
    assert set(few) == {-2, 2, 6}
    assert (made(bounded, "tiny") == made(bounded, "spec")).all()
    whole = bounded.replace(
        'dtype = "float32"\nelems = "n"\nrole = "in"', 'dtype = "int32"\nelems = "n"\nrole = "in"'
    )
    assert set(made(whole, "few")) == {-2, 2, 6} and set(made(whole, "rising")) == set(range(-2, 7))
    indices = SPEC.replace(
        'dtype = "float32"\nelems = "n"\nrole = "in"',
        'dtype = "int32"\nelems = "n"\nrole = "in"\ninit = "index:n"',
    )
    assert (made(indices, "few") == made(indices, "spec")).all()


def test_struct_buffers_have_lanes() -> None:
    arg = buffers(
        "size = 12\n"
        "fields = [{ name = 'x', dtype = 'f32', offset = 0 }, { name = 'k', dtype = 'u8', offset = 8 }]"
    )
    data = np.zeros(24, np.uint8)
    first, second = lanes(arg)
    view(data, first)[:] = [1.0, 2.0]
    view(data, second)[:] = [7, 9]
    assert data.tolist() == [0, 0, 128, 63, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 9, 0, 0, 0]


F32 = lookup("f32")


def f(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_integers_are_exact() -> None:
    a = np.array([1, 2, 3], np.int32)
    assert compare(a, a, lookup("i32"), T).bitwise_equal
    found = compare(np.array([1, 2, 4], np.int32), a, lookup("i32"), T)
    assert (found.bad, found.first_bad, found.port_value, found.original_value) == (1, 2, "4", "3")


def test_integers_in_another_order_pass_only_where_the_original_varies_too() -> None:
    a, b, i32 = np.array([1, 2, 3], np.int32), np.array([3, 1, 2], np.int32), lookup("i32")
    assert compare(b, a, i32, T, again=[np.array([2, 1, 3], np.int32)], order_dependent=True).bad == 0
    assert compare(b, a, i32, T, again=[a], order_dependent=True).bad == 3
    assert compare(b, a, i32, T, again=[np.array([2, 1, 3], np.int32)]).bad == 3


@pytest.mark.parametrize(
    ("port", "original", "bad", "nonfinite"),
    [
        (f(1, np.nan), f(1, np.nan), 0, 0),
        (f(1, 2), f(1, np.nan), 1, 1),
        (f(np.nan, 2), f(1, 2), 1, 1),
        (f(np.inf, 2), f(np.inf, 2), 0, 0),
        (f(-np.inf, 2), f(np.inf, 2), 1, 1),
        (f(1e30, 2), f(np.inf, 2), 1, 1),
        (f(np.nan, 2), f(np.inf, 2), 1, 1),
        (f(1.000001, 2), f(1, 2), 0, 0),
        (f(1.001, 2), f(1, 2), 1, 0),
        (f(-0.0, 2), f(0.0, 2), 0, 0),
    ],
)
def test_floats(port: np.ndarray, original: np.ndarray, bad: int, nonfinite: int) -> None:
    found = compare(port, original, F32, T)
    assert (found.bad, found.nonfinite) == (bad, nonfinite)


def test_tolerance_follows_the_scale_of_the_output() -> None:
    """1e-4 is nothing beside 1e6 and everything beside 1e-6."""
    tiny = f(1e-6, 2e-6, 3e-6)
    assert compare(tiny + np.float32(1e-6), tiny, F32, T).bad == 3
    assert compare(np.zeros_like(tiny), tiny, F32, T).bad == 3
    assert compare(f(1e6, 1e-3), f(1e6, 0), F32, T).bad == 0


def test_fp64_rule_bounds_the_port_by_the_original() -> None:
    rng = np.random.default_rng(0)
    exact = rng.standard_normal(1000)
    original = (exact + rng.standard_normal(1000) * 1e-5).astype(np.float32)
    better = exact.astype(np.float32)
    worse = (exact + rng.standard_normal(1000) * 1e-4).astype(np.float32)
    assert compare(better, original, F32, T, exact).bad == 0
    assert compare(original[::1], original, F32, T, exact).bad == 0
    found = compare(worse, original, F32, T, exact)
    assert found.bad > 0
    assert found.rule == "fp64"
    assert found.port_fp64 is not None
    assert found.original_fp64 is not None
    assert found.port_fp64 > 2 * found.original_fp64


def test_fp64_rule_leaves_an_ulp_where_the_original_is_exact() -> None:
    exact = np.array([1.0, 2.0, 4.0] * 100)
    original = exact.astype(np.float32)
    assert compare(np.nextafter(original, np.float32(9)), original, F32, T, exact).bad == 0
    assert compare(original * np.float32(1 + 1e-6), original, F32, T, exact).bad == 300


def test_order_dependent_kernels_may_vary_as_the_original_does() -> None:
    o = f(1, 2, 3)
    again = o + np.float32(1e-3)
    assert compare(o + np.float32(3e-3), o, F32, T, again=[again], order_dependent=True).bad == 0
    assert compare(o + np.float32(3e-2), o, F32, T, again=[again], order_dependent=True).bad == 3
    assert compare(o + np.float32(3e-3), o, F32, T, again=[again]).bad == 3


@given(st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_equal_is_equal_whatever_the_values(values: list[float]) -> None:
    a = np.array(values, np.float32)
    found = compare(a.copy(), a, F32, T)
    assert found.bad == 0
    assert found.bitwise_equal


@given(st.lists(st.floats(width=32), min_size=1, max_size=20), st.integers(0, 19))
def test_a_large_change_is_never_missed(values: list[float], at: int) -> None:
    a = np.array(values, np.float32)
    b = a.copy()
    at %= len(a)
    b[at] = 1.0 if not np.isfinite(a[at]) else np.nan
    assert compare(b, a, F32, T).bad >= 1


def test_parts_of_a_large_output_are_judged_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from verify import tolerance

    rng = np.random.default_rng(2)
    exact = rng.standard_normal(1000)
    original = (exact * (1 + 1e-6 * rng.standard_normal(1000))).astype(np.float32)
    port = (exact * (1 + 3e-6 * rng.standard_normal(1000))).astype(np.float32)
    port[777] = 9
    for reference in (None, exact):
        whole = compare(port, original, F32, T, reference)
        monkeypatch.setattr(tolerance, "_PART", 64)
        parts = compare(port, original, F32, T, reference)
        monkeypatch.undo()
        assert parts == whole
        assert whole.bad >= 1


def test_one_number_summed_in_any_order_is_no_false_alarm() -> None:
    """The original's error on one number is one sample: by luck it may be nearly none."""
    rng = np.random.default_rng(3)
    products = rng.standard_normal(20_000).astype(np.float32)
    exact = np.array([products.astype(np.float64).sum()])

    def summed() -> np.ndarray:
        return np.array([np.cumsum(rng.permutation(products), dtype=np.float32)[-1]], np.float32)

    for _ in range(60):
        original, *again = (summed() for _ in range(6))
        for reference in (None, exact):
            found = compare(summed(), original, F32, T, reference, again, order_dependent=True)
            assert found.bad == 0, found
            missed = summed() - products[:1] * 3
            assert compare(missed, original, F32, T, reference, again, order_dependent=True).bad


def test_one_bad_element_of_the_original_excuses_no_others() -> None:
    rng = np.random.default_rng(4)
    exact = rng.standard_normal(5000)
    original = exact.astype(np.float32)
    original[7] += np.float32(0.01)
    assert compare(original, original, F32, T, exact).bad == 0
    assert compare(exact.astype(np.float32), original, F32, T, exact).bad == 0
    worse = exact.astype(np.float16).astype(np.float32)
    assert compare(worse, original, F32, T, exact).bad > 100


def test_a_single_number_may_be_as_near_as_the_dtype_allows() -> None:
    """The original is exact by luck; two ulp off is no failure, half precision is."""
    exact = np.array([3.0])
    original = f(3.0)
    assert compare(f(3.0000014), original, F32, T, exact).bad == 0
    assert compare(f(3.001), original, F32, T, exact).bad == 1
