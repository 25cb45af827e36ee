"""How often the right entry comes first, or among the first three: `python -m tests.retrieval.benchmark`.

Queries are CUDA kernels written apart from the corpus's twins; `labels.toml` names the right entries.
Entries count whether they are proven or not, so that numbers move with the ranking only. A third of the
queries is held out: measured, never looked at while anything is set.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corpus.catalog import Item, load
from corpus.search import search
from translator.batch import fanout
from translator.diag.diagnostic import Sink
from translator.frontend.inputs import Inputs, ReadOptions, UnitInput
from translator.retrieval.index import Index
from translator.retrieval.rank import Weights, diverse, ordered, parts_of
from translator.retrieval.read import Query, queries

QUERIES = Path(__file__).parent / "queries"


@dataclass(frozen=True, slots=True)
class Label:
    """The right answers of one query: `primary` is what counts, `acceptable` teaches most of it."""

    name: str
    primary: frozenset[str]
    acceptable: frozenset[str]
    held_out: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """Over some queries: how often a primary answer is `first`, is among `three`, or any right one is; and
    `mrr`, the mean of one over the primary's place."""

    count: int
    first: float
    three: float
    any_three: float
    mrr: float


Ranking = Callable[[Query], tuple[list[str], list[str]]]  # (the three shown, all in order)


def labels() -> list[Label]:
    """Every label, in order of the file."""
    read = tomllib.loads((QUERIES / "labels.toml").read_text(encoding="utf-8"))
    return [
        Label(n, frozenset(r["primary"]), frozenset(r["acceptable"]), r.get("held_out", False))
        for n, r in read.items()
    ]


def query_of(label: Label) -> Query:
    """The one kernel of a query's file."""
    sink = Sink()
    unit = UnitInput(str(QUERIES / f"{label.name}.cu"), named=True)
    (found,) = queries(Inputs([unit]), ReadOptions(), sink)
    assert not sink.refused, sink.items
    return found


def ask(chosen: list[Label]) -> list[tuple[Label, Query]]:
    """Each label with its query, read in a few processes."""
    jobs = len(os.sched_getaffinity(0))
    came = fanout.run(chosen, query_of, jobs=jobs, timeout=300.0)
    lost = [c for c in came if isinstance(c, fanout.Lost)]
    assert not lost, lost
    return list(zip(chosen, (c for c in came if isinstance(c, Query)), strict=True))


def rankings(items: list[Item], index: Index) -> dict[str, Ranking]:
    """What is compared, by name."""

    parts: dict[str, dict[str, list[float]]] = {}

    def ours(weights: Weights) -> Ranking:
        def ranked(query: Query) -> tuple[list[str], list[str]]:
            if query.path not in parts:
                parts[query.path] = parts_of(query, index)
            found = ordered(parts[query.path], index, weights)
            return [r.document.item.entry.id for r in diverse(found, 3)], [
                r.document.item.entry.id for r in found
            ]

        return ranked

    def words(query: Query) -> tuple[list[str], list[str]]:
        text = Path(query.path).read_text(encoding="utf-8")
        found = [h.item.entry.id for h in search(text, items, len(items))]
        return found[:3], found

    none = dict.fromkeys(("facts", "twin", "kernel", "said", "dtypes", "embedding"), 0.0)
    text = Weights()
    return {
        "facts + BM25 (ours)": ours(Weights()),
        "plain BM25 (search by words)": words,
        "text, facts as words only": ours(
            Weights(**{**none, "twin": text.twin, "kernel": text.kernel, "said": text.said})
        ),
        "text of twins only": ours(Weights(**{**none, "twin": 1.0})),
        "text of kernels only": ours(Weights(**{**none, "kernel": 1.0})),
        "facts only": ours(Weights(**{**none, "facts": 1.0})),
    }


def measure(ranking: Ranking, asked: list[tuple[Label, Query]]) -> Measured:
    """One ranking over queries."""
    first = three = any_three = mrr = 0.0
    for label, query in asked:
        shown, whole = ranking(query)
        first += bool(set(shown[:1]) & label.primary)
        three += bool(set(shown[:3]) & label.primary)
        any_three += bool(set(shown[:3]) & (label.primary | label.acceptable))
        mrr += max((1 / (whole.index(p) + 1) for p in label.primary if p in whole), default=0.0)
    n = len(asked)
    return Measured(n, first / n, three / n, any_three / n, mrr / n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tuning", action="store_true", help="leave the held-out queries alone")
    parser.add_argument("--wrong", action="store_true", help="name tuning queries whose answer is not first")
    args = parser.parse_args()
    begin = time.perf_counter()
    items, _ = load()
    index = Index(items)
    warm = time.perf_counter()
    asked = ask([x for x in labels() if not (args.tuning and x.held_out)])
    read = time.perf_counter()
    groups = {
        "tuning": [a for a in asked if not a[0].held_out],
        "held out": [a for a in asked if a[0].held_out],
    }
    groups["all"] = asked
    print(f"{'':30}{'queries':>9} {'n':>3}  recall@1  recall@3  right@3   MRR")
    compared = rankings(items, index)
    for name, ranking in compared.items():
        for group, some in groups.items():
            if some and not (args.tuning and group != "tuning"):
                m = measure(ranking, some)
                print(
                    f"{name:30}{group:>9} {m.count:>3}  {m.first:8.3f}  {m.three:8.3f}"
                    f"  {m.any_three:7.3f} {m.mrr:5.3f}"
                )
    done = time.perf_counter()
    print(
        f"twins {warm - begin:.1f} s, queries {read - warm:.1f} s, rankings {done - read:.1f} s",
        file=sys.stderr,
    )
    if args.wrong:
        ours = compared["facts + BM25 (ours)"]
        for label, query in groups["tuning"]:
            shown, whole = ours(query)
            if shown[0] not in label.primary:
                place = min(whole.index(p) + 1 for p in label.primary)
                print(f"{label.name}: {', '.join(shown)}; {', '.join(label.primary)} is {place}.")


if __name__ == "__main__":
    main()
