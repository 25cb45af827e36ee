"""The C of every row of the tables against exact arithmetic in Python, on edge values and random ones.

Of large families only every so many opcodes are tried; EMULATOR_ALL_OPCODES=1 tries all.
"""

from __future__ import annotations

import ctypes
import os
from collections import Counter
from pathlib import Path

import pytest

from tests.emulator.oracle import oracle
from tests.emulator.single.cases import Case, cases, inputs
from tests.emulator.single.native import build, run

VIDEO = [f"v{what}{n}" for what in ("add", "sub", "avrg", "absdiff", "min", "max") for n in (2, 4)]
ALL = bool(os.environ.get("EMULATOR_ALL_OPCODES"))
ROWS = 512 if ALL else 44


def chosen() -> list[Case]:
    """Cases with exact results; of large families (comparisons, video) every so many."""
    step = {"set": 40, "setp": 20, "cvt": 5} | dict.fromkeys(VIDEO, 10)
    count: Counter[str] = Counter()
    found: list[Case] = []
    for case in cases("sm_100"):
        if case.op.approximate:
            continue
        family = case.op.name.split(".")[0]
        if ALL or count[family] % step.get(family, 1) == 0:
            found.append(case)
        count[family] += 1
    return found


CHOSEN = chosen()
FAMILIES = sorted({case.op.name.split(".")[0] for case in CHOSEN})


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("arithmetic")
    return build(CHOSEN, folder)


@pytest.mark.parametrize("family", FAMILIES)
def test_results_are_exact(family: str, library: ctypes.CDLL) -> None:
    for number, case in enumerate(CHOSEN):
        if case.op.name.split(".")[0] != family or (want := expected(case)) is None:
            continue
        given = inputs(case)[:ROWS]
        got = run(library, number, case, given)
        for row, result in zip(given.tolist(), got.tolist(), strict=True):
            # setp of halves has no second predicate; the oracle gives one all the same.
            assert want(*row)[: len(result)] == result, (case.key, [hex(x) for x in row])


def expected(case: Case):  # type: ignore[no-untyped-def]
    return oracle(case.op.name, case.op.shape, case.constant)


def test_every_exact_opcode_has_an_oracle() -> None:
    lacking = {case.key for case in CHOSEN if expected(case) is None}
    assert lacking == set()
