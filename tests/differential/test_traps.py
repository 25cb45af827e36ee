"""The traps of `traps.cu`: the values are C++'s, and a port that falls into the trap is noticed.

`EXPECTED` was computed by g++ once. `BROKEN` are mistakes put into the port's text (pattern, replacement): a
trap whose mistake gives the right values would test nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.session import Outcome, judge

SOURCE = Path(__file__).parent / "traps.cu"
X = [-7, 3, 5, 200, 100, 9, 0, 1]
EXPECTED: dict[str, list[int | float]] = {
    "floor_division": [-3, -2, 3],
    "remainder_sign": [-1, -1, 4],
    "known_division": [-3],
    "widen_signed_to_unsigned": [72057594037927935, 0, 15],
    "narrow_promotion": [300, -100, 900000000, 1, 44, 77, 11364],
    "unsigned_shift": [268435455, -1, 2147483640],
    "chained_compare": [0, 1, 0],
    "bool_arithmetic": [2, -1, -1, -2, 1],
    "counter_after_loop": [5, 10, 7],
    "bound_changes": [5, 30],
    "unsigned_bounds": [5, 4, 17179869174],
    "struct_copy": [3, 3013, 54],
    "nested_member": [853, 563],
    "shadowing": [7, 55, 3],
    "right_side_first": [3100, 2, 9],
    "float_constants": [
        0.0, 0.10000000149011612, 0.30000001192092896, 0.07000000029802322, 0.0, 0.600000011920929,
        0.3333333432674408,
    ],
    "integer_constants": [3458764513820540928, 2147483647, 4294967289, 10000000000],
    "unsigned_index": [200, 9, 5],
    "lambda": [6143219],
    "lazy_and": [5, 0, 1, 0, 2],
    "switch_value_changes": [1, 13],
    "leaving_loops": [3, 5, 704],
    "references": [115, 80],
    "step_after_break": [182, 2],
    "conditional_place": [78],
    "max_of_long": [1, 1, 1, 2147483644],
    "void_arms": [42],
    "long_way_up": [-1575],
    "member_address": [370005, 6, 601, 3434],
    "unsigned_extremes": [7, 2147483648, 9, 15, -14],
    "return_in_do": [101, 2],
    "braces_in_order": [755, 141407, 31101010],
}  # fmt: skip
BROKEN: dict[str, list[tuple[str, str]]] = {
    "floor_division": [
        (r"idiv\(x\[0\], Int32\(2\)\)", "x[0] // 2"),
        (r"idiv\(x\[0\], x\[1\]\)", "x[0] // x[1]"),
    ],
    "remainder_sign": [(r"irem\(seven, Int32\(3\)\)", "seven % Int32(3)")],
    "known_division": [(r"idiv\(a, b\)", "a // b")],
    "widen_signed_to_unsigned": [(r"wide = Uint64\(Int64\(x\[0\]\)\)", "wide = Uint64(x[0])")],
    "narrow_promotion": [
        (r"Int32\(a\) \+ Int32\(b\)\)$", "a + b)"),
        (r"Int32\(b\) - Int32\(a\)\)", "b - a)"),
        (r"Int32\(s\) \* \(Int32\(s\) \+ x\[6\]\)", "Int32(s * s)"),
        (r"Int32\(c\) < Int32\(a\)", "c < a"),
        (r"a = Uint8\(Int32\(a\) \+ Int32\(b\)\)", "a = Int32(a) + Int32(b)"),
        (r"Int32\(Uint8\(~Int32\(b\)\)\) >> 1", "Int32(Int8(~b)) >> 1"),
    ],
    "unsigned_shift": [(r"u = Uint32\(x\[0\]\)", "u = x[0]"), (r"x\[0\] >> Int32\(count\)", "x[0] >> count")],
    "chained_compare": [(r"c == Int32\(a < b\)", "c == a < b")],
    "bool_arithmetic": [
        (r"Int32\(p\) \+ Int32\(q\)", "(p + q)"),
        (r"~Int32\(p\)", "~p"),
        (r"p = Int32\(p\) \+ 5 != 0", "p = Int32(p) + 5"),
    ],
    "counter_after_loop": [
        (r"    while i < x\[2\]:\n(.*\n) +i = i \+ 1", r"    for i in range(0, x[2]):\n\1")
    ],
    "bound_changes": [(r"    while i < m:", "    for i in range(i, m):")],
    "unsigned_bounds": [
        (r"    while u < low \+ 5:", "    for u in cutlass.range(low, low + 5):"),
        (r"u_1 = 3 \+ Uint32\(x\[6\]\)", "u_1 = Int32(3) + x[6]"),
    ],
    "struct_copy": [(r"p_a = p_a \+ 10", "p_a = p_a + 11"), (r"c_b \+ list_\[3\]", "list_[3] + list_[3]")],
    "nested_member": [(r"o_in_b = x\[2\]", "pass"), (r"p_in_a = Int32\(5\)", "o_in_a = p_in_a = Int32(5)")],
    "shadowing": [(r"v_1", "v"), (r"v_2", "v")],
    "right_side_first": [(r"a\[i\] = old_i", "a[old_i] = old_i")],
    "float_constants": [
        (r"runtime\(big\) \+ one", "big + one"),
        (r"Float64\(runtime\(tenth\)\)", "Float64(tenth)"),
        (r"runtime\(tenth\) \*", "tenth *"),
        (r"runtime\(a\) \* b", "a * b"),
        (r"same = Float32\(runtime\(whole\)\)", "same = Float32(whole)"),
        (r"0\.1 \* Float64\(x\[1\]\)", "Float64(0.1 * Float32(x[1]))"),
        (r"runtime\(third\)", "third"),
    ],
    "integer_constants": [
        (r"runtime\(u\) \* u", "u * u"),
        (r"v = Uint32\(3\)", "v = Int32(3)"),
        (r"Uint32\(x\[0\]\) & Uint32\(0xffffffff\)", "x[0] & Int32(-1)"),
    ],
    "lazy_and": [(r"Int32\(x\[1\] != 0\) \+", "x[1] +")],
    "switch_value_changes": [(r"lane = s", "lane = Int32(4)"), (r"lane == 4", "s == 4")],
    "leaving_loops": [(r"if not returned:", "if returned:")],
    "references": [
        (r"r = a\.data_ptr\(\)", "r = b.data_ptr()"),
        (r"e = list_\.data_ptr\(\) \+ k", "e = list_.data_ptr() + 3"),
    ],
    "unsigned_extremes": [
        (r"min\(runtime\(Uint32\(7\)\), u\)", "min(Uint32(7), u)"),
        (r"min\(runtime\((Uint64\(9\))\)", r"min(\1"),
    ],
    "conditional_place": [(r"a\[at\] = value", "a[0] = value")],
    "max_of_long": [(r"u > Uint64\(Int64\(x\[1\]\)\)", "Int64(u) > Int64(x[1])")],
}
# An unsigned index is extended with zeros: sign extension would be `mul.wide.s32` or `cvt.s64.s32`.
INSTRUCTIONS = {"unsigned_index": r"mul\.wide\.u32|cvt\.u64\.u32"}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    job = {
        "source": str(SOURCE),
        "n": 8,
        "grid": [1, 1, 1],
        "block": [1, 1, 1],
        "args": {"x": X, "def": X, "out": [0] * 8, "None": [0] * 8},
        "expect": {k: {"None" if k == "lambda" else "out": values} for k, values in EXPECTED.items()},
        "broken": BROKEN,
        "ptx": True,
        "instructions": INSTRUCTIONS,
    }
    return {kernel: outcome for (_, kernel), outcome in judge([job]).items()}


@pytest.mark.dsl
@pytest.mark.parametrize("trap", EXPECTED)
def test_trap(trap: str, outcomes: dict[str, Outcome]) -> None:
    assert outcomes[trap] == Outcome("equal")


@pytest.mark.dsl
def test_every_trap_is_listed(outcomes: dict[str, Outcome]) -> None:
    assert set(outcomes) == set(EXPECTED)
