"""Outputs of free order: what is paired with what, what is no pair, and what such a comparison can't tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from verify.expr import ExprError
from verify.judge import judge, output_lanes
from verify.resolve import resolve
from verify.spec import Spec
from verify.spec_file import SpecError, parse_spec
from verify.telling import Telling
from verify.unordered import CountError, MisfitError, Order, check, free_lanes

HEAD = """
schema = 1
name = "k"
original = { kernel = "k" }
port = { entry = "k" }
launch = { grid = ["1"], block = ["32"] }
"""
CASE = '[[case]]\nname = "c"\nsizes = { n = %d }\n'
NAN = float("nan")


def buffer(name: str, dtype: str = "f32", role: str = "out", more: str = "", elems: str = "n") -> str:
    head = f'[[arg]]\nname = "{name}"\nkind = "buffer"\ndtype = "{dtype}"\n'
    return head + f'elems = "{elems}"\nrole = "{role}"\n{more}\n'


FREE = 'order = "free"'
PAIR = FREE + '\ngroup = "g"'


def spec_of(*args: str, n: int, head: str = "") -> Spec:
    return parse_spec(HEAD + head + "".join(args) + CASE % n)


def outputs(**values: Any) -> dict[str, Any]:
    return {n: np.ascontiguousarray(v).view(np.uint8).reshape(-1) for n, v in values.items()}


def f(*values: float) -> Any:
    return np.array(values, np.float32)


def i(*values: int) -> Any:
    return np.array(values, np.int32)


POISON = np.array([0xFFFFFFFF], np.uint32).view(np.float32)[0]
POISONED = np.array([0xAAAAAAAA], np.uint32).view(np.int32)[0]


def codes(spec: Spec, original: Mapping[str, Any], port: Mapping[str, Any]) -> list[str | None]:
    """The code of each output lane, both sides run once."""
    order = Order(spec, resolve(spec, spec.case[0]))
    wanted, got = [order.begin(original)], [order.port(port, 0)]
    return [judge(a, x, got, wanted, spec.tolerance, None, False).code for a, x in output_lanes(spec)]


def test_a_permutation_is_right_and_its_nan_may_move() -> None:
    spec = spec_of(buffer("v", more=FREE), n=5)
    first = outputs(v=f(1, NAN, 2, -0.0, NAN))
    assert codes(spec, first, outputs(v=f(NAN, 2, NAN, 1, -0.0))) == [None]
    assert codes(spec, first, outputs(v=f(NAN, 2, 2, 1, -0.0))) == ["CP7013"]


@pytest.mark.parametrize("wrong", [f(3, 1, 1, 2), f(4, 3, 2, 2)])
def test_a_double_in_the_place_of_a_loss_is_wrong(wrong: Any) -> None:
    spec = spec_of(buffer("v", more=FREE), n=4)
    assert codes(spec, outputs(v=f(1, 2, 3, 4)), outputs(v=wrong)) == ["CP7012"]


def test_rounding_is_allowed_for_in_sorted_order() -> None:
    spec = spec_of(buffer("v", more=FREE), n=4)
    assert codes(spec, outputs(v=f(1, 2, 3, 4)), outputs(v=f(4.000002, 3, 1.0000001, 2))) == [None]
    assert codes(spec, outputs(v=f(1, 2, 3, 4)), outputs(v=f(4.01, 3, 1, 2))) == ["CP7012"]


def test_a_dense_output_does_not_hide_a_loss_behind_its_neighbours() -> None:
    """Sorted side by side, each element would be near the next: equal bits are paired before."""
    values = np.linspace(1, 1.01, 5000, dtype=np.float32)
    lossy = np.concatenate([values[1:], values[-1:]])
    spec = spec_of(buffer("v", more=FREE), n=5000)
    assert codes(spec, outputs(v=values), outputs(v=lossy[::-1])) == ["CP7012"]


def test_tuples_move_together() -> None:
    pairs = buffer("k", "i32", more=PAIR), buffer("v", more=PAIR)
    spec = spec_of(*pairs, n=3)
    first = outputs(k=i(7, 8, 9), v=f(1, 2, NAN))
    assert codes(spec, first, outputs(k=i(9, 7, 8), v=f(NAN, 1, 2))) == [None, None]
    assert "CP7012" in codes(spec, first, outputs(k=i(9, 7, 8), v=f(NAN, 2, 1)))
    alone = spec_of(buffer("k", "i32", more=FREE), buffer("v", more=FREE), n=3)
    assert codes(alone, first, outputs(k=i(9, 7, 8), v=f(NAN, 2, 1))) == [None, None]


@pytest.mark.parametrize(
    "dtypes", [("i32",), ("i64",), ("i32", "f32"), ("bf16", "i32"), ("i32", "f32", "i32"), ("f64", "i64")]
)
@pytest.mark.parametrize("rows", [1, 7])
def test_a_run_comes_into_the_first_ones_order_whatever_its_tuples(
    dtypes: tuple[str, ...], rows: int
) -> None:
    """Of few values, so that tuples and parts of them are there more than once; in rows of their own."""
    n, draw = 70, np.random.default_rng(len(dtypes) + rows)
    free = PAIR + (f"\nwithin = {n // rows}" if rows > 1 else "")
    spec = spec_of(*(buffer(f"v{k}", d, more=free) for k, d in enumerate(dtypes)), n=n)
    kinds = {"i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64, "bf16": np.uint16}
    values = [draw.integers(-2, 3, n).astype(np.int16).astype(kinds[d]) for d in dtypes]
    turned = np.concatenate([r * (n // rows) + draw.permutation(n // rows) for r in range(rows)])
    order = Order(spec, resolve(spec, spec.case[0]))
    first = order.begin(outputs(**{f"v{k}": v for k, v in enumerate(values)}))
    got = order.port(outputs(**{f"v{k}": v[turned] for k, v in enumerate(values)}), 0)
    assert all(np.array_equal(got[name], first[name]) for name in first)
    values[-1] = values[-1].copy()
    values[-1][turned[0]] += 9
    wrong = order.port(outputs(**{f"v{k}": v[turned] for k, v in enumerate(values)}), 0)
    assert not np.array_equal(wrong[f"v{len(dtypes) - 1}"], first[f"v{len(dtypes) - 1}"])


def test_tuples_of_floats_whose_first_ones_nearly_tie() -> None:
    spec = spec_of(buffer("x", more=PAIR), buffer("y", more=PAIR), n=2)
    first = outputs(x=f(1.0, 1.0000001), y=f(5, 9))
    assert codes(spec, first, outputs(x=f(1.0000002, 1.0), y=f(5.0000005, 9))) == [None, None]


def test_only_what_counts_is_free() -> None:
    spec = spec_of(
        buffer("v", "i32", more=FREE + '\ncount = "min(m, n)"'), buffer("m", "i32", "inout", elems="1"), n=4
    )
    first = outputs(v=i(1, 2, POISONED, POISONED), m=i(2))
    assert codes(spec, first, outputs(v=i(2, 1, POISONED, POISONED), m=i(2))) == [None, None]
    assert codes(spec, first, outputs(v=i(2, 2, POISONED, POISONED), m=i(2)))[0] == "CP7012"
    assert codes(spec, first, outputs(v=i(2, 1, POISONED, 5), m=i(2)))[0] == "CP7024"
    assert codes(spec, first, outputs(v=i(POISONED, 1, 2, POISONED), m=i(2)))[0] == "CP7014"
    with pytest.raises(MisfitError, match="v: 3 elements count, 2 of the original's"):
        codes(spec, first, outputs(v=i(2, 1, 1, POISONED), m=i(3)))
    plain = spec_of(
        buffer("v", "i32", more=FREE + '\ncount = "m"'), buffer("m", "i32", "inout", elems="1"), n=4
    )
    with pytest.raises(CountError, match="is 9 of 4"):
        codes(plain, outputs(v=i(1, 2, 3, 4), m=i(9)), first)


def test_without_a_count_all_that_was_written_counts() -> None:
    spec = spec_of(buffer("v", more=FREE), n=4)
    first = outputs(v=f(1, 2, POISON, POISON))
    assert codes(spec, first, outputs(v=f(2, 1, POISON, POISON))) == [None]
    assert codes(spec, first, outputs(v=f(2, POISON, POISON, POISON))) == ["CP7014"]
    assert codes(spec, first, outputs(v=f(2, 1, 1, POISON))) == ["CP7024"]
    with pytest.raises(MisfitError, match=r"v\[0\] is not written"):
        codes(spec, first, outputs(v=f(POISON, 1, 2, POISON)))


def test_gaps_may_lie_elsewhere_where_the_originals_do() -> None:
    spec = spec_of(buffer("v", more=FREE), n=4)
    order = Order(spec, resolve(spec, spec.case[0]))
    order.begin(outputs(v=f(1, POISON, 2, POISON)))
    odd = np.array([0xAAAAAAAA], np.uint32).view(np.float32)[0]  # another run, another poison
    again = order.original(outputs(v=f(odd, 2, 1, odd)), 1)
    assert again["v"].view(np.float32)[[0, 2]].tolist() == [1, 2]
    got = order.port(outputs(v=f(POISON, POISON, 1, 2)), 0)
    assert got["v"].view(np.float32)[[0, 2]].tolist() == [1, 2]


def test_rows_keep_their_own() -> None:
    spec = spec_of(
        buffer("v", "i32", more=FREE + '\nwithin = "3"\ncount = "m"'),
        buffer("m", "i32", "inout", elems="n / 3"), n=6,
    )  # fmt: skip
    first = outputs(v=i(1, 2, POISONED, 4, POISONED, POISONED), m=i(2, 1))
    assert codes(spec, first, outputs(v=i(2, 1, POISONED, 4, POISONED, POISONED), m=i(2, 1))) == [None, None]
    moved = outputs(v=i(4, 1, POISONED, 2, POISONED, POISONED), m=i(2, 1))
    assert codes(spec, first, moved)[0] == "CP7012"
    assert [words for _, words in free_lanes(spec)] == ["a multiset within each 3"]


def test_a_reference_follows_the_original() -> None:
    spec = spec_of(buffer("k", "i32", more=PAIR), buffer("v", more=PAIR), n=3)
    order = Order(spec, resolve(spec, spec.case[0]))
    order.begin(outputs(k=i(7, 8, 9), v=f(1, 2, 3)))
    right = {"k": np.array([9.0, 8, 7]), "v": np.array([3.0000001, 2, 1])}
    assert order.reference(right)["v"].tolist() == [1, 2, 3.0000001]
    assert order.reference({"v": right["v"]}) == {}, "of half a tuple nobody knows whose it is"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([buffer("v", more=FREE + '\ncount = "q"')], "'q' is no size, scalar or integer output"),
        ([buffer("v", more=FREE + '\nwithin = "3"')], "within of 'v' is 3, no divisor of its 4"),
        ([buffer("v", "u8", more=FREE)], "'v' needs a count"),
        ([buffer("v", more=PAIR), buffer("w", more=PAIR, elems="2 * n")], "differ in elems"),
        ([buffer("v", more=PAIR), buffer("w", more=PAIR + '\ncount = "1"')], "differ in count"),
        ([buffer("v", more=FREE + '\ncount = "n"'), buffer("n", "i32")], "an output and a size"),
    ],
)
def test_orders_that_make_no_sense(args: list[str], words: str) -> None:
    spec = spec_of(*args, n=4)
    with pytest.raises(ExprError, match=words) as caught:
        check(spec, resolve(spec, spec.case[0]))
    assert caught.value.loc[0] == "arg"


@pytest.mark.parametrize(
    ("arg", "words"),
    [
        (buffer("v", role="in", more=FREE), "is for outputs"),
        (buffer("v", more='group = "g"'), "group belongs to outputs"),
        (buffer("v", more=FREE + '\ncount = "1 +"'), "ends too early"),
    ],
)
def test_keys_that_do_not_fit(arg: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        spec_of(arg, n=4)


# what a run can tell


def told(spec: Spec, inputs: Mapping[str, Any], *wanted: Mapping[str, Any]) -> tuple[str, Telling]:
    order = Order(spec, resolve(spec, spec.case[0]))
    runs = [order.begin(wanted[0]), *(order.original(w, k) for k, w in enumerate(wanted[1:], 1))]
    telling = Telling()
    return telling.look(spec, inputs, runs, order, len(runs) > 1), telling


def test_a_copy_of_an_input_in_another_order_is_a_null_answer() -> None:
    spec = spec_of(buffer("x", role="in"), buffer("v", more=FREE), n=4)
    why, telling = told(spec, outputs(x=f(1, 2, 3, 5)), outputs(v=f(5, 2, 1, 3)))
    assert (why, [*telling.fooled["v"]]) == ("a null answer would pass here", ["a copy of x"])
    assert told(spec, outputs(x=f(1, 2, 3, 5)), outputs(v=f(5, 2, 1, 4)))[0] == ""


def test_values_so_dense_that_a_loss_would_pass_prove_nothing() -> None:
    spec = spec_of(buffer("v", more=FREE), n=5000)
    dense = np.linspace(1, 1.01, 5000, dtype=np.float32)
    assert told(spec, {}, outputs(v=dense))[1].fooled["v"] == {"one element lost and another doubled": 1}
    wide = np.linspace(1, 1000, 5000, dtype=np.float32)
    assert told(spec, {}, outputs(v=wide))[1].told == {"v"}


def test_floats_that_change_places_are_too_vague() -> None:
    spec = spec_of(buffer("v"), n=4)
    why, telling = told(spec, {}, outputs(v=f(1, 2, 3, 4)), outputs(v=f(4, 1, 2, 3)))
    assert why == "v varies too much here"
    code, words = telling.blind(spec) or ("", "")
    assert code == "CP7029" and "4 of 4" in words and 'order = "free"' in words


def test_float_sums_that_vary_in_the_last_places_are_not() -> None:
    spec = spec_of(buffer("v"), n=4)
    assert told(spec, {}, outputs(v=f(1, 2, 3, 4)), outputs(v=f(1.000001, 2, 3.000002, 4)))[0] == ""


def test_integers_that_change_places_together_are_too_vague() -> None:
    spec = spec_of(buffer("k", "i32"), buffer("v", "i32"), n=3)
    first, then = outputs(k=i(1, 2, 3), v=i(5, 6, 7)), outputs(k=i(2, 1, 3), v=i(6, 5, 7))
    assert (
        "2 outputs change their order together" in (told(spec, {}, first, then)[1].blind(spec) or ("", ""))[1]
    )
    alone = spec_of(buffer("k", "i32"), n=3)
    assert told(alone, {}, outputs(k=i(1, 2, 3)), outputs(k=i(2, 1, 3)))[0] == ""
