"""The ranking on labelled kernels. Numbers are those of `python -m tests.retrieval.benchmark`."""

from __future__ import annotations

import time

import pytest

from corpus.catalog import load
from tests.retrieval.benchmark import QUERIES, Label, Measured, ask, labels, measure, rankings
from translator.retrieval.index import Index
from translator.retrieval.rank import exemplars
from translator.retrieval.read import Query


@pytest.fixture(scope="module")
def asked() -> list[tuple[Label, Query]]:
    return ask(labels())


@pytest.fixture(scope="module")
def measured(asked: list[tuple[Label, Query]]) -> dict[str, Measured]:
    items = load()[0]
    return {name: measure(r, asked) for name, r in rankings(items, Index(items)).items()}


def test_every_entry_that_a_label_names_exists_and_is_asked_for() -> None:
    known = {i.entry.id for i in load()[0]}
    named = labels()
    assert {x.name for x in named} == {p.stem for p in QUERIES.glob("*.cu")}
    assert set().union(*(x.primary | x.acceptable for x in named)) <= known
    assert sum(x.held_out for x in named) * 3 >= len(named) - 2 and len(named) >= 44


def test_the_right_entry_is_among_three(measured: dict[str, Measured]) -> None:
    ours = measured["facts + BM25 (ours)"]
    assert ours.three >= 0.9
    assert ours.first >= 0.8


def test_facts_are_worth_having(measured: dict[str, Measured]) -> None:
    ours, plain = measured["facts + BM25 (ours)"], measured["plain BM25 (search by words)"]
    assert ours.first > plain.first + 0.2 and ours.three > plain.three and ours.mrr > plain.mrr + 0.1
    for name in ("text, facts as words only", "text of twins only", "text of kernels only"):
        assert ours.mrr > measured[name].mrr, name


def test_a_warm_search_takes_less_than_a_second(asked: list[tuple[Label, Query]]) -> None:
    items = load()[0]
    exemplars(asked[0][1], items, proven=False)
    start = time.process_time()
    exemplars(asked[1][1], items, proven=False)
    assert time.process_time() - start < 1.0
