"""Specs: expressions with C's meaning, the format, problems with their lines."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from saxpy_target import SPEC, write_target

from verify.expr import ExprError, evaluate, evaluate_int, names_of
from verify.resolve import resolve
from verify.spec_file import SpecError, load_spec, parse_spec


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(n + 255) / 256", 4),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7 / -2", -3),
        ("2 + 3 * 4 - 5 % 3", 12),
        ("1 << 4 | 3", 19),
        ("n > 1000 ? 1 : 2", 1),
        ("n < 0 ? 1 / 0 : 2", 2),
        ("min(n, 5) + max(1, 2, 3)", 8),
        ("ceil_div(n, 256)", 4),
        ("n == 1009 && !0", 1),
        ("0 && (1 / 0)", 0),
        ("1 || (1 / 0)", 1),
        ("0x10u + 1ULL", 17),
        ("p.n * 2", 6),
        ("~0 & 255", 255),
        ("(a + b) * -1", -3),
    ],
)
def test_expressions_mean_what_c_means(text: str, value: int) -> None:
    names = {"n": 1009, "p.n": 3, "a": 1, "b": 2}
    assert evaluate_int(text, names) == value


def test_floats_in_expressions() -> None:
    assert evaluate("1.0f / sqrt(64)", {}) == 0.125
    assert evaluate("1e-5", {}) == 1e-5
    assert evaluate("длина * 2", {"длина": 3}) == 6
    assert evaluate("1 / 2 * 2.0", {}) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n +",
        "(1",
        "1 2",
        "f(1)",
        "n ? 1",
        "a b",
        "1 % 2.0",
        "min(1)",
        "1 / 0",
        "__import__('os')",
        "(" * 100,
        "1" + "+1" * 2000,
        "1 << 100000000000",
        "1 << 64",
        "1 >> -1",
        "*".join(["(1 << 63)"] * 20),
    ],
)
def test_bad_expressions_raise_their_own_error(text: str) -> None:
    with pytest.raises(ExprError):
        evaluate(text, {"n": 1, "a": 1, "b": 1})


@given(st.text(max_size=40))
def test_no_text_escapes_the_evaluator(text: str) -> None:
    with contextlib.suppress(ExprError):
        evaluate(text, {"n": 3})


@given(st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40).filter(bool))
def test_division_and_remainder_fit_together(a: int, b: int) -> None:
    names = {"a": a, "b": b}
    q, r = evaluate_int("a / b", names), evaluate_int("a % b", names)
    assert q * b + r == a
    assert abs(r) < abs(b)
    assert r == 0 or (r < 0) == (a < 0)


def test_names() -> None:
    assert names_of("(n + p.m) / min(k, 2)") == {"n", "p.m", "k"}
    assert names_of(3) == set()


def test_resolve_gives_numbers(tmp_path: Path) -> None:
    spec = load_spec(write_target(tmp_path / "t", ""))
    typical = resolve(spec, spec.case[2])
    assert (typical.grid, typical.block, typical.smem) == ((4, 1, 1), (256, 1, 1), 0)
    assert typical.elems == {"x": 1009, "y": 1009}
    assert typical.scalars == {"n": 1009, "a": 2.5}
    assert not resolve(spec, spec.case[0]).launchable


def test_a_case_may_have_a_launch_of_its_own() -> None:
    own = parse_spec(SPEC + 'grid = ["n / 500"]\nblock = [64, 2]\n')
    assert (resolve(own, own.case[-1]).grid, resolve(own, own.case[-1]).block) == ((2, 1, 1), (64, 2, 1))
    assert resolve(own, own.case[-2]).grid == (1, 1, 1) and resolve(own, own.case[-2]).block == (256, 1, 1)
    with pytest.raises(SpecError, match="grid"):
        parse_spec(SPEC + 'grid = ["n +"]\n')


def test_struct_fields_can_be_used_in_expressions() -> None:
    text = SPEC.replace(
        'name = "a"\nkind = "scalar"\ndtype = "float32"\nvalue = 2.5',
        'name = "p"\nkind = "struct"\nsize = 8\n'
        'fields = [{ name = "m", dtype = "i32", offset = 4, value = "n * 2" }]',
    ).replace('elems = "n"', 'elems = "p.m"', 1)
    spec = parse_spec(text)
    assert resolve(spec, spec.case[2]).elems["x"] == 2018


@pytest.mark.parametrize(
    ("old", "new", "bad", "words"),
    [
        ("schema = 1", "schema = 2", "schema = 2", "1"),
        ('"float32"\nvalue', '"float33"\nvalue', "float33", "unknown dtype 'float33'"),
        ('role = "in"', 'role = "input"', "input", "'in'"),
        ('entry = "saxpy"', 'entry = "1x"', "1x", "not a Python name"),
        ('smem = "0"', 'smem = "0"\nmore = 3', "more", "Extra inputs"),
        ('grid = ["(n + 255) / 256", "1", "1"]', 'grid = ["(n + "]', "grid", "ends too early"),
        ('role = "in"', 'role = "in"\ninit = "gauss"', "gauss", "unknown init 'gauss'"),
        ('name = "saxpy"\n[', "name = saxpy\n[", "name = saxpy", "not valid TOML"),
        ("schema = 1", "schema = " + "9" * 5000, "", "not valid TOML: Exceeds the limit"),
    ],
)
def test_problems_name_their_line(old: str, new: str, bad: str, words: str) -> None:
    assert old in SPEC
    text = SPEC.replace(old, new, 1)
    line = text[: text.index(bad)].count("\n") + 1
    with pytest.raises(SpecError) as e:
        parse_spec(text, "t/spec.toml")
    (problem,) = e.value.problems
    assert problem.startswith(f"t/spec.toml:{line}: "), problem
    assert words in problem


def test_missing_and_unreadable_specs(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such file"):
        load_spec(tmp_path)
    (tmp_path / "spec.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="can't be read"):
        load_spec(tmp_path)


def test_names_may_not_repeat() -> None:
    with pytest.raises(SpecError, match="case named twice: one"):
        parse_spec(SPEC.replace('name = "typical"', 'name = "one"'))
