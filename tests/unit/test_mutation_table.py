"""The record of mutants: its table is up to date, and every survivor has been looked at."""

from __future__ import annotations

import json

import pytest

from tests.mutation_table import README, RECORD, reasons, share, table, written

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))


def test_the_table_is_what_the_record_says() -> None:
    assert README.read_text(encoding="utf-8") == written()


def test_each_survivor_and_nothing_else_has_its_reason() -> None:
    survived = {n: {s["id"] for s in t["survivors"]} for n, t in RECORDED["targets"].items()}
    assert {n: ids for n, ids in survived.items() if ids} == {n: set(why) for n, why in reasons().items()}
    for why in (w for of in reasons().values() for w in of.values()):
        assert why.startswith(("same: ", "missed: ")) and len(why) > 20


def test_of_what_changes_a_port_nearly_all_is_caught() -> None:
    assert len(RECORDED["targets"]) == 24
    assert min(t["tried"] for t in RECORDED["targets"].values()) >= 12
    rows = [r.split(" | ") for r in table(RECORDED, reasons()).splitlines()[2:]]
    assert float(rows[-1][-1].rstrip(" |")) >= 0.95


@pytest.mark.parametrize(("killed", "missed", "score"), [(19, 1, 0.95), (0, 2, 0.0), (0, 0, 1.0)])
def test_the_score_counts_what_is_killed_or_missed(killed: int, missed: int, score: float) -> None:
    assert share([99, 50, killed, 7, 3, 5, missed]) == score
