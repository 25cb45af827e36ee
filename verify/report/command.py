"""`cuteport report`: read, render, write, and say what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from verify.exits import EXIT_DONE, EXIT_FAILED
from verify.facts import Strict
from verify.files import write_bytes
from verify.report.collect import HEAD, NO_VERDICT, Entry, collect
from verify.summary import Row


class NoReportError(Exception):
    """What is at the place of the report is none: it is not overwritten."""


class KernelLine(Strict):
    """One kernel. `status` is its verdict's, or UNREADABLE; `problems` say what can't be shown."""

    name: str
    folder: str
    status: str
    kernel: str
    runs: int | None
    max_abs: float | None
    equal_bits: bool
    mutation_share: float | None
    ratio: tuple[float, float, float] | None  # with the ends of its interval
    problems: list[str]


class ReportDocument(Strict):
    """What `report --json` prints."""

    schema_version: Literal[1] = 1
    exit_code: int
    out: str
    bytes: int
    kernels: list[KernelLine]


@dataclass(frozen=True, slots=True)
class Made:
    """A report that was written."""

    out: Path
    size: int
    rows: tuple[tuple[Entry, Row], ...]

    @property
    def exit_code(self) -> int:
        """0, or 1 where something could not be shown. What the verdicts say is the report's content, not its
        failure; neither is a target that was never verified."""
        bad = any(p.code != NO_VERDICT for e, _ in self.rows for p in e.problems)
        return EXIT_FAILED if bad else EXIT_DONE

    @property
    def document(self) -> ReportDocument:
        lines = [
            KernelLine(
                name=r.name,
                folder=str(e.folder),
                status=r.status,
                kernel=r.kernel,
                runs=r.runs,
                max_abs=r.error,
                equal_bits=r.equal,
                mutation_share=r.score,
                ratio=r.ratio,
                problems=[f"{p.code}: {p.message}" for p in e.problems],
            )
            for e, r in self.rows
        ]
        return ReportDocument(exit_code=self.exit_code, out=str(self.out), bytes=self.size, kernels=lines)


def make(paths: Sequence[Path], out: Path) -> Made:
    """Write the report on `paths` to `out`, whole or not at all. Raises NothingToReportError,
    NoReportError and OSError."""
    from verify.report.render import render, rows_of  # loads Jinja and Pygments

    entries = collect(paths)
    _may_write(out, paths)
    data = render(entries).encode()
    _write(out, data)
    return Made(out, len(data), tuple(rows_of(entries)))


def _may_write(out: Path, paths: Sequence[Path]) -> None:
    if any(p.is_file() and out.exists() and out.samefile(p) for p in paths):
        raise NoReportError(f"{out} is what the report is about: it is left alone")
    if out.is_dir():
        raise NoReportError(f"{out} is a folder")
    if not out.parent.is_dir():
        raise NoReportError(f"there is no folder {out.parent}")
    if out.is_file() and out.stat().st_size:
        with out.open("rb") as f:
            if f.read(len(HEAD)) != HEAD:
                raise NoReportError(f"{out} is there and no report: it is left alone")


def _write(out: Path, data: bytes) -> None:
    """Under a temporary name, then renamed; straight to what is no file, as a device."""
    if out.exists() and not out.is_file():
        out.write_bytes(data)
        return
    write_bytes(out.resolve(), data)
