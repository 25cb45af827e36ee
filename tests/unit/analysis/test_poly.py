from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.analysis.launch_shape import c_text, number, poly_of
from translator.analysis.poly import Poly, largest

N, M = Poly.symbol("n"), Poly.symbol("m")


def test_text() -> None:
    assert ((N * M).times(4).plus(-1)).text() == "m * n * 4 - 1"
    assert Poly.const(0).text() == "0"
    assert (-N).text() == "-n"
    assert Poly.symbol("(n + 3) / 4").times(4).text() == "((n + 3) / 4) * 4"


def test_division_drops_a_remainder_below_one_row() -> None:
    assert (N * M).plus(-1).divide(M) == N.plus(-1)
    assert (N * M).divide(M) == N
    assert N.times(8).plus(-1).divide(Poly.const(4)) == N.times(2).plus(-1)
    assert N.divide(M) is None


def test_covering_needs_sizes_of_at_least_one() -> None:
    assert N.covers(Poly.const(1))
    assert (N * M).covers(M)
    assert not N.covers(M)
    assert not N.plus(-2).covers(Poly.const(0))
    assert largest([N, N * M, N.plus(-1), M]) == (N * M,)
    assert largest([N, M]) == (N, M)


@given(st.integers(1, 50), st.integers(1, 50), st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5))
def test_covers_is_never_wrong(n: int, m: int, a: int, b: int, c: int) -> None:
    p = N.times(a) + (N * M).times(b) + Poly.const(c)
    if p.covers(Poly()):
        assert a * n + b * n * m + c >= 0


@given(st.integers(1, 60), st.integers(1, 60), st.integers(-3, 6))
def test_quotients_are_exact_or_rounded_down(n: int, m: int, shift: int) -> None:
    made = (N * M).plus(shift).divide(M)
    assert made is not None
    value = number(made.text(), {"n": n, "m": m})
    assert value is not None
    if shift in (-1, 0) or 0 <= shift < m:
        assert value == (n * m + shift) // m


@pytest.mark.parametrize(
    ("python", "c"),
    [
        ("(n + 255) // 256", "(n + 255) / 256"),
        ("n * (m + 1) % 7", "n * (m + 1) % 7"),
        ("n if n < 64 else 64", "n < 64 ? n : 64"),
        ("min(n, 1024)", "min(n, 1024)"),
        ("n > 0 and not m", "n > 0 && !m"),
        ("(n + 1) // 2 // (m * 2)", "(n + 1) / 2 / (m * 2)"),
        ("n - (m - 1)", "n - (m - 1)"),
        ("1 << (n >> 2)", "1 << (n >> 2)"),
    ],
)
def test_python_to_c(python: str, c: str) -> None:
    assert c_text(python) == c
    sizes = {"n": 77, "m": 5}
    assert number(c, sizes) == int(eval(python, {}, sizes))


def test_poly_of_keeps_what_is_no_polynomial_whole() -> None:
    assert poly_of("n * (m + 2)") == N * M + N.times(2)
    assert poly_of("(n + 31) // 32").symbols == {"(n + 31) / 32"}


def test_number_of_nonsense_is_none() -> None:
    assert number("n +", {"n": 1}) is None
    assert number("unknown", {}) is None
    assert number("n / 0", {"n": 1}) is None
