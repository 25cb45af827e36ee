"""What `verify` and `report` tell while they work and at the end, as plain lines. A command that has a
terminal may show the same in another way: it gives a `Shown` of its own."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from verify.report.visible import visible
from verify.report.words import score, size
from verify.summary import Row, geometric_mean
from verify.verdict import StageResult, Status

if TYPE_CHECKING:
    from verify.report.command import Made

_HEAD = ("status", "kernel", "code", "runs", "worst error", "mutants", "original / port")
_NUMBERS = (3, 4, 5, 6)  # the columns that end at one edge


class Shown:
    """Progress on stderr, one line for each result; the table on stdout. `brief`: a bar says how far the work
    is, and only what needs a look gets a line."""

    brief = False

    def begin(self, total: int) -> None:
        """`total` stages are to be done."""

    def step(self, done: str) -> None:
        """One more is."""

    def line(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """No more stages."""

    def row(self, text: str, status: str = "") -> None:
        """A line of the table; `status` may colour it."""
        print(text, flush=True)


def worth_a_line(result: StageResult) -> bool:
    """Whether a result is told beside a bar too: the rest is in the table."""
    return result.status not in (Status.PASSED, Status.NOT_RUN)


def show_table(rows: Sequence[Row], shown: Shown) -> None:
    """One line for each verdict, then their geometric mean. Columns with nothing in them are left out."""
    table = [_HEAD, *(_cells(r) for r in rows)]
    used = [k for k in range(len(_HEAD)) if k < 2 or any(line[k] for line in table[1:])]
    widths = {k: max(len(line[k]) for line in table) for k in used}
    for line, status in zip(table, ["", *(r.status for r in rows)], strict=True):
        cells = [line[k].rjust(widths[k]) if k in _NUMBERS else line[k].ljust(widths[k]) for k in used]
        shown.row("  ".join(cells).rstrip(), status)
    ratios = [r.ratio[0] for r in rows if r.ratio is not None]
    mean = geometric_mean(ratios)
    if mean is not None and len(ratios) > 1:
        shown.row(f"geometric mean of original time / port time: {mean:.3f} ({len(ratios)} kernels)")


def _cells(r: Row) -> tuple[str, ...]:
    runs = "" if r.runs is None else f"{r.runs} emulated" if r.device == "emulator" else str(r.runs)
    return r.status, visible(r.name), r.code, runs, r.error_words, score(r.score), r.ratio_words


def show_report(made: Made, shown: Shown) -> None:
    """The table of a report, what it could not show, and where it is."""
    show_table([r for _, r in made.rows], shown)
    for entry, _ in made.rows:
        for p in entry.problems:
            shown.line(visible(f"{entry.name}: {p.code}: {p.message}"))
    counts = Counter(r.status for _, r in made.rows)
    told = ", ".join(f"{n} {status}" for status, n in counts.items())
    shown.row(f"{len(made.rows)} kernel{'' if len(made.rows) == 1 else 's'}: {told}")
    shown.row(visible(f"report: {made.out} ({size(made.size)})"))


def reasons(results: Sequence[StageResult]) -> list[str]:
    """Why stages did not run, each reason once; not those that the failure of another stage explains."""
    found: Counter[str] = Counter()
    for s in results:
        if s.status is Status.NOT_RUN and " ended " not in s.message:
            code = f"{s.code} " if s.code else ""
            found[f"{s.stage} NOT_RUN: {code}{s.message.splitlines()[0][:300]}"] += 1
    return [f"{told} ({n} target{'' if n == 1 else 's'})" for told, n in found.items()]
