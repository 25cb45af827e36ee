"""What `check` and `bisect` show: results on stdout, progress on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.text import Text

from translator.terminal import Progress, console_of, print_table
from verify.report.visible import visible

if TYPE_CHECKING:
    from verify.check.bisect import BisectReport, Tried
    from verify.check.engine import Progress as CheckProgress
    from verify.check.model import CheckReport, How, TargetResult

_OUTCOME_STYLE = {"OK": "green", "NEW": "cyan", "CHANGED": "yellow", "STALE": "yellow", "UNPROVEN": "yellow"}


class CheckView:
    """A check as it goes: on a terminal a line that is rewritten and a table at the end, elsewhere a line per
    target as it is done. `quiet` leaves stdout to a document."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._lines = not quiet and not sys.stdout.isatty()
        self._line = Progress()

    def progress(self, at: CheckProgress) -> None:
        if at.done or sys.stderr.isatty():  # elsewhere the lines of the targets show how far it is
            self._line(at.doing, at.done, at.total, at.target)

    def result(self, found: TargetResult) -> None:
        if self._lines:
            print(" ".join(_result_row(found)).rstrip(), flush=True)

    def warn(self, text: str) -> None:
        print(f"warning: {text}", file=sys.stderr)

    def show(self, report: CheckReport) -> None:
        """What is not as recorded, then totals, versions and where the run can be continued."""
        self._line.clear()
        console = console_of()
        told = [r for r in report.targets if r.outcome.value != "OK" or r.code]
        if told and not self._lines:
            styles = [_OUTCOME_STYLE.get(r.outcome.value, "red") for r in told]
            print_table(console, [_result_row(r) for r in told], styles)
        for change in _versions(report):
            console.print(Text(f"since the baselines: {change}"))
        counts = ", ".join(f"{n} {outcome}" for outcome, n in report.counts.items())
        head = f"{len(report.targets)} targets on {report.device} in {report.seconds:.1f} s"
        console.print(Text(f"{head}: {counts or 'none'}"))
        console.print(Text("values: " + _how(report)))
        if report.recorded:
            console.print(Text(f"recorded: {report.recorded} baselines"))
        if report.interrupted:
            left = f"{len(report.not_reached)} targets were not reached"
            console.print(Text(f"interrupted: {left}; `cuteport check --resume` goes on"))
        elif report.run:
            console.print(Text(f"run folder: {report.run}"))


def _result_row(r: TargetResult) -> tuple[str, ...]:
    first = visible(r.message.splitlines()[0][:300] if r.message else r.values.words)
    marks = " (recorded)" * r.recorded + " (from the run before)" * r.resumed
    where = f" ({r.file}:{r.line})" if r.line else ""
    return r.outcome.value, visible(r.target), r.code or "-", first + visible(where) + marks


def _versions(report: CheckReport) -> list[str]:
    """Each version that changed since a baseline, with how many targets that goes for."""
    found: dict[str, int] = {}
    for r in report.targets:
        for v in r.versions:
            said = f"{v.name} {v.before or 'absent'} → {v.after or 'absent'}"
            found[said] = found.get(said, 0) + 1
    return [f"{said} ({n} target{'' if n == 1 else 's'})" for said, n in found.items()]


_HOW: dict[How, str] = {
    "run": "{n} compared now",
    "baseline": "{n} unchanged since the baseline and not run again",
    "cache": "{n} with the inputs of an earlier comparison",
    "this run": "{n} with the inputs of another target of this run",
    "none": "{n} not compared",
}


def _how(report: CheckReport) -> str:
    return "; ".join(_HOW[how].format(n=report.how[how]) for how in _HOW if report.how.get(how)) or "none"


def tell_tried(tried: Tried) -> None:
    """On stderr, as it goes."""
    said = tried.status or f"skipped: {tried.message}"
    seconds = f"installed in {tried.install_seconds:.1f} s, run in {tried.run_seconds:.1f} s"
    print(
        f"{tried.version}: {said} ({seconds})" if tried.status else f"{tried.version}: {said}",
        file=sys.stderr,
    )


def show_bisect(report: BisectReport) -> None:
    """The versions tried, oldest first; then what was found."""
    console = console_of()
    rows = [("version", "", "verdict", "code", "PTX", "values", "resources")]
    for t in report.tried:
        state = {"good": "good", "bad": "other", "skipped": "skipped", "end": "end"}[t.state]
        what = t.resources or visible(t.message.partition("\n")[0][:120])
        rows.append(
            (t.version, state, t.status or "-", t.code or "-", t.ptx or "-", t.values[:12] or "-", what)
        )
    styles = ["bold", *({"good": "green", "bad": "red"}.get(t.state, "dim") for t in report.tried)]
    print_table(console, rows, styles)
    for unseen in dict.fromkeys(t.unseen for t in report.tried if t.unseen):
        console.print(Text(f"not seen: {unseen}"))
    console.print(Text(report.words))
    for change in report.changed:
        console.print(Text(f"  {change}"))
    console.print(Text(f"{len(report.tried)} versions tried in {report.seconds:.0f} s"))
