"""What follows from measured extents: when a size is certain, and for which cases."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from verify.extrapolate import law
from verify.measure import CaseSeen, Seen, Touch, extent, role_of, wider_roles
from verify.spec_file import parse_spec

SIZES = [{"n": 1, "k": 7}, {"n": 4, "k": 3}, {"n": 9, "k": 20}, {"n": 100, "k": 50}]


def seen(sizes: Mapping[str, int], touched: int, drafted: int, zeros: int | None = None) -> CaseSeen:
    runs = tuple({"x": Touch(n, "in")} for n in (touched, touched if zeros is None else zeros))
    return CaseSeen("x".join(map(str, sizes.values())), sizes, {"x": drafted}, runs)


def test_a_drafted_size_that_is_right_stays() -> None:
    found = extent("x", [seen(s, s["n"], s["n"]) for s in SIZES], generous=False)
    assert found.kept
    assert found.words == "1 to 100 elements in 4 of 4 cases, with zeros as well: the size is right"


def test_a_larger_drafted_size_stays_only_where_it_may_be_larger() -> None:
    cases = [seen(s, s["n"], 2 * s["n"]) for s in SIZES]
    assert extent("x", cases, generous=True).kept
    measured = extent("x", cases, generous=False)
    assert (measured.kept, dict(measured.elems)) == (False, {"1x7": 1, "4x3": 4, "9x20": 9, "100x50": 100})


def test_a_drafted_size_must_be_right_in_several_cases() -> None:
    missing = [CaseSeen(str(s), s, {"x": 5}, why="too large") for s in SIZES[2:]]
    found = extent("x", [seen(s, 5, 5) for s in SIZES[:2]] + missing, generous=False)
    assert (found.kept, found.elems) == (False, {})


def test_what_depends_on_the_data_is_not_certain() -> None:
    found = extent("x", [seen(SIZES[0], 1, 1), seen(SIZES[1], 4, 4, zeros=3)], generous=True)
    assert found.elems == {}
    assert found.words.endswith("the data: 4 with the drafted inputs, 3 with zeros in case 4x3")


def test_a_case_that_could_not_run_follows_a_law_or_nothing_is_certain() -> None:
    large = CaseSeen("large", {"n": 10**6, "k": 10**5}, {"x": 1}, why="too large")
    lawful = extent("x", [*(seen(s, 2 * s["n"] - 1, 1) for s in SIZES), large], generous=False)
    assert lawful.elems["large"] == 2 * 10**6 - 1
    assert lawful.words.endswith("; each time 2 * n - 1, so taken for large (too large)")
    odd = extent("x", [*(seen(s, s["n"] % 5 + 2, 1) for s in SIZES), large], generous=False)
    assert odd.elems == {}


def test_what_leaves_a_buffer_proves_nothing() -> None:
    left = CaseSeen("a", SIZES[0], {"x": 1}, ({"x": Touch(9, "in", left="it goes on"), "y": Touch(1, "in")},))
    assert extent("x", [left], generous=True).words == "it goes on in case a"
    assert extent("y", [left], generous=True).elems == {}  # what it read there may be y's index
    spoilt = CaseSeen("a", SIZES[0], {"x": 1}, ({"x": Touch(9, "in"), "y": Touch(1, "in", spoilt="y ends")},))
    assert extent("x", [spoilt], generous=True).words == "no case could be run: y ends"
    untouched = extent("x", [seen(s, 0, 1) for s in SIZES], generous=True)
    assert (untouched.words, untouched.elems) == ("no element was touched", {})


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("k * n", lambda n, k: n * k),
        ("3 * n + 2", lambda n, k: 3 * n + 2),
        ("max(k, n)", max),
        ("7", lambda n, k: 7),
        ("", lambda n, k: n * n + k),
    ],
)
def test_laws(text: str, count: object) -> None:
    assert callable(count)
    found = law([(s, count(s["n"], s["k"])) for s in SIZES], [])
    assert (str(found) if found else "") == text


def test_no_law_of_two_cases_nor_of_two_that_say_different_things() -> None:
    assert law([(s, s["n"]) for s in SIZES[:2]], []) is None
    alike = [({"a": v, "b": v}, v) for v in (1, 5, 9)]
    assert law(alike, [{"a": 3, "b": 3}]) is not None
    assert law(alike, [{"a": 3, "b": 4}]) is None


def roles(spec_role: str, *ways: Seen) -> dict[str, str]:
    text = f"""
schema = 1
name = "k"
original = {{ kernel = "k" }}
port = {{ entry = "k" }}
launch = {{ grid = [1], block = [1] }}
[[arg]]
name = "x"
kind = "buffer"
dtype = "float32"
elems = 1
role = "{spec_role}"
[[case]]
name = "only"
"""
    case = CaseSeen("only", {}, {"x": 1}, tuple({"x": Touch(1, way)} for way in ways))
    return dict(wider_roles(parse_spec(text), [case]))


def test_roles_grow_and_never_shrink() -> None:
    assert roles("in", "inout") == {"x": "inout"}
    assert roles("in", "unused", "out") == {"x": "inout"}
    assert roles("out", "in", "out") == {"x": "inout"}
    assert roles("out", "out", "unused") == {}
    assert roles("inout", "in", "in") == {}


def used(*ways: str, name: str = "a") -> CaseSeen:
    runs = tuple({"x": Touch(4, way)} for way in ways)  # type: ignore[arg-type]
    return CaseSeen(name, SIZES[0], {"x": 4}, runs)


@pytest.mark.parametrize(
    ("ways", "written", "role"),
    [
        (("in", "in"), False, "in"),
        (("out", "unused"), False, "out"),
        (("in", "out"), False, "inout"),
        (("inout", "unused"), True, "inout"),
        (("unused", "unused"), False, None),
        (("in", "in"), True, None),  # the source has a write that no run came to
    ],
)
def test_a_role_that_nobody_knows_is_what_all_runs_do(
    ways: tuple[str, ...], written: bool, role: str | None
) -> None:
    assert role_of("x", [used(*ways)], written)[1] == role


def test_a_role_is_not_told_by_too_few_cases() -> None:
    missing = [CaseSeen(str(k), {}, {"x": 4}, why="too large") for k in range(3)]
    assert role_of("x", [used("in", "in"), *missing], False)[1] is None
    assert role_of("x", missing, False) == ("no case could be run: too large", None)


def test_what_no_size_explains_may_follow_from_the_launch() -> None:
    ran = [CaseSeen(str(n), {"n": n}, {"x": 9}, ({"x": Touch(b, "out")},), launched={"blocks": b})
           for n, b in ((1, 1), (255, 1), (257, 2), (10007, 40))]  # fmt: skip
    large = CaseSeen("large", {"n": 1 << 20}, {"x": 9}, why="too large", launched={"blocks": 4096})
    found = extent("x", [*ran, large], generous=False)
    assert found.elems["large"] == 4096
