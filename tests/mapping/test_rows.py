"""Each mapping row through the DSL: it compiles for every type it claims, to the PTX it promises."""

from __future__ import annotations

import re
from itertools import groupby

import pytest

from tests.mapping.row_kernels import Variant, batches

CASES = [
    pytest.param(number, list(row), id=rule_id, marks=pytest.mark.xdist_group(f"rows{number}"))
    for number, batch in enumerate(batches())
    for rule_id, row in groupby(batch, key=lambda v: v.rule.id)
]
BATCHES = batches()


@pytest.mark.dsl
@pytest.mark.parametrize(("number", "row"), CASES)
def test_row(number: int, row: list[Variant], row_ptx) -> None:  # type: ignore[no-untyped-def]
    for name, ptx in row_ptx(number, BATCHES[number], row).items():
        variant = next(v for v in row if v.name == name)
        for wanted in variant.rule.ptx:
            assert re.search(wanted, ptx), f"{variant.label}: no {wanted} in\n{ptx}"
        for unwanted in variant.rule.no_ptx:
            assert not re.search(unwanted, ptx), f"{variant.label}: {unwanted} in\n{ptx}"
