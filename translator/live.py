"""What `cuteport verify` shows on a terminal: a bar while it works, and a table in colours."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from verify.report.visible import visible
from verify.terminal import Shown

_STYLES = {"": "dim", "PASSED": "green", "COMPILED": "blue", "NOT_RUN": "dim"}
_DOUBTFUL = ("AMBIGUOUS", "SLOWER", "REFUSED")


def shown() -> Shown:
    """A bar where stderr is a terminal; plain lines elsewhere."""
    return _Live() if sys.stderr.isatty() else Shown()


class _Live(Shown):
    """rich's bar on stderr, which goes when the work is done; the table stays."""

    brief = True

    def __init__(self) -> None:
        columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
        said = TextColumn("{task.description}", markup=False)
        console = Console(file=sys.stderr, highlight=False)
        self._progress = Progress(*columns, said, console=console, transient=True)
        self._task = self._progress.add_task("", total=None)

    def begin(self, total: int) -> None:
        self._progress.update(self._task, total=total)
        self._progress.start()

    def step(self, done: str) -> None:
        self._progress.update(self._task, advance=1, description=visible(done))

    def line(self, text: str) -> None:
        self._progress.console.print(visible(text), markup=False, soft_wrap=True)

    def end(self) -> None:
        self._progress.stop()

    def row(self, text: str, status: str = "") -> None:
        if not sys.stdout.isatty():
            super().row(text, status)
            return
        style = _STYLES.get(status, "yellow" if status in _DOUBTFUL else "red")
        console = Console(highlight=False)
        console.print(text, style=style, markup=False, no_wrap=True, overflow="ellipsis")
