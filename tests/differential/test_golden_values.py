"""Each golden snippet that a CPU can run leaves the memory that the same source leaves under g++."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.differential.session import Outcome, judge

SNIPPETS = Path(__file__).parents[1] / "golden" / "cuda"
THREADS = "threads work together"
PTX = "inline PTX or a math library that only a GPU has"
NOT_RUN = {
    "atomics_all": THREADS,
    "atomics_shared": THREADS,
    "ballot": THREADS,
    "barrier_in_loop": THREADS,
    "device_global": THREADS,
    "early_return_barrier": THREADS,
    "pointer_param": THREADS,
    "shared_2d": THREADS,
    "shared_dynamic": THREADS,
    "shared_struct": THREADS,
    "shuffle_width": THREADS,
    "volatile_spin": THREADS,
    "bit_intrinsics": PTX,
    "half2_math": PTX,
    "ldg": PTX,
    "math_accuracy": PTX,
    "minmax_mixed": PTX,
    "rounding": PTX,
    "while_assign_cond": PTX,
    "convert_edges": "the host compiler has no such conversions",
    "lambda_local": "refused: a lambda that captures by value",
    "printf": "its result is text",
    "refused_device_malloc": "refused",
    "refused_inline_asm": "refused",
    "refused_texture": "refused, and g++ can't read it",
}
# What random arguments can't be: extents, counts, a filter's taps.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "grid_3d": {"args": {"w": 9, "h": 6, "d": 3}, "n": 170},
    "row_pointer": {"args": {"rows": 5, "cols": 7}},
    "struct_param": {"args": {"f": [-1, 0.75, 3, 0.25, 0.5, -1.0]}},
}


def snippets() -> list[str]:
    return sorted(p.stem for p in SNIPPETS.glob("*.cu") if p.stem not in NOT_RUN)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[Outcome]]:
    jobs = [
        {"source": str(SNIPPETS / f"{s}.cu"), "n": 40, "block": [32, 1, 1], **ARGUMENTS.get(s, {})}
        for s in snippets()
    ]
    found: dict[str, list[Outcome]] = {}
    for (source, _), outcome in judge(jobs).items():
        found.setdefault(Path(source).stem, []).append(outcome)
    return found


@pytest.mark.dsl
@pytest.mark.parametrize("snippet", snippets())
def test_values_are_those_of_cpp(snippet: str, outcomes: dict[str, list[Outcome]]) -> None:
    assert {o.status for o in outcomes[snippet]} == {"equal"}, outcomes[snippet]


def test_list_of_what_is_not_run_is_current() -> None:
    assert {s for s in NOT_RUN if not (SNIPPETS / f"{s}.cu").exists()} == set()
