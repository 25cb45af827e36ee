"""`cuteport corpus search --for FILE.cu`: the proven entries that its kernels can be ported after."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from corpus.catalog import Item, retrievable
from translator.batch import fanout
from translator.batch.driver import lost_reading, read_options
from translator.diag.diagnostic import Diagnostic, Sink, Span
from translator.frontend.inputs import Inputs, ReadOptions, collect
from translator.outcome import Finding, Outcome, Report
from translator.retrieval.embeddings import embedder
from translator.retrieval.index import Index
from translator.retrieval.rank import Ranked, Weights, diverse, ordered, parts_of, reasons
from translator.retrieval.read import Query, queries
from translator.settings import Settings


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry for a kernel: its place's score, the parts of it, and why in words."""

    ranked: Ranked
    reasons: tuple[str, ...]

    @property
    def item(self) -> Item:
        return self.ranked.document.item


@dataclass(frozen=True, slots=True)
class Found:
    """One kernel and the entries for it, best first."""

    query: Query
    hits: tuple[Hit, ...]


@dataclass(slots=True)
class Searched:
    """What came of a search. `problems` are of files and names, and notes; errors decide the exit code."""

    kernels: list[Found] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0, or that of what could not be read (see `translator.outcome`)."""
        wrong = tuple(f for f in self.problems if f.severity == "error")
        if not wrong:
            return 0
        return Report([Outcome("", "", "", "REFUSED", findings=wrong)]).exit_code


@dataclass(frozen=True, slots=True)
class _Task:
    inputs: Inputs
    options: ReadOptions


def search_for(path: str, settings: Settings, items: Sequence[Item], most: int = 3) -> Searched:
    """At most `most` proven entries of `items` for each kernel of a file or folder."""
    sink = Sink()
    asked = _queries(path, settings, sink)
    searched = Searched()
    if asked and not sink.refused:
        index = Index(retrievable(list(items)))
        embed = embedder(settings)
        for query in asked:
            parts = parts_of(query, index, embed=embed, sink=sink)
            chosen = diverse(ordered(parts, index, Weights()), most)
            hits = tuple(Hit(r, reasons(query, r.document, index)) for r in chosen)
            searched.kernels.append(Found(query, hits))
    searched.problems = [Finding.of(d) for d in sink.items]
    return searched


def queries_of(paths: Sequence[str], settings: Settings) -> list[list[Query]]:
    """The kernels of each file, all files read in child processes; none of one that can't be read."""
    options = ReadOptions()
    tasks = [_Task(collect([path], options, Sink()), options) for path in paths]
    came = fanout.run(tasks, _read, jobs=settings.workers, timeout=settings.unit_timeout)
    return [[] if isinstance(one, fanout.Lost) else one[0] for one in came]


def _queries(path: str, settings: Settings, sink: Sink) -> list[Query]:
    """The kernels of `path`, read in a child process: the parser is foreign code."""
    options = read_options(settings)
    inputs = collect([path if not path.startswith("-") else f"./{path}"], options, sink)
    if sink.refused or not inputs.units:
        if not sink.refused:
            sink.report("CP1005", Span(path), path=path)
        return []
    (came,) = fanout.run([_Task(inputs, options)], _read, jobs=1, timeout=settings.unit_timeout)
    if isinstance(came, fanout.Lost):
        sink.items.append(lost_reading(path, came, settings))
        return []
    found, said = came
    sink.items += said
    if not found and not sink.refused:
        sink.report("CP1005", Span(path), path=path)
    return found


def _read(task: _Task) -> tuple[list[Query], list[Diagnostic]]:
    from translator.frontend.clang import watch_by

    watch_by(lambda begins: fanout.foreign(begins=begins))
    os.environ["LIBCLANG_NOTHREADS"] = "1"  # its own threads have small stacks; this one's is deep
    sink = Sink()
    return queries(task.inputs, task.options, sink), sink.items
