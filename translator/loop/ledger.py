"""What each kernel cost and came to: `ledger.json` in the run folder, and as CSV."""

from __future__ import annotations

import csv
import io
import threading
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from translator.loop.json_file import read_document
from translator.output import unwritten, write_file

LEDGER = "ledger.json"


class Entry(BaseModel):
    """One kernel of one run. `seconds` is the whole loop's; `money` in US dollars, null where the model
    has no price; `gain` is the best candidate's speed over the port it began with, null where not timed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kernel: str
    target: str
    mode: str
    model: str
    outcome: str
    code: str = ""
    why: str = ""
    attempts: int
    turns: int
    prompt_tokens: int
    answer_tokens: int
    money: float | None = None
    seconds: float
    candidates: int = Field(description="texts that were judged")
    reached: str = ""
    gain: float | None = None
    folder: str = ""


class Book(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1
    entries: list[Entry]


class Ledger:
    """Written after each kernel, so that a killed run keeps what it has. Several threads may add. A full disk
    ends no run: `unwritten` says why the file is behind the entries, "" where it is not."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER
        self.unwritten = ""
        self._lock = threading.Lock()
        self.entries = read_ledger(folder)

    def add(self, entry: Entry) -> None:
        """Take an entry in, for one of the same target and mode."""
        with self._lock:
            same = (entry.target, entry.mode)
            self.entries = [e for e in self.entries if (e.target, e.mode) != same] + [entry]
            try:
                write_file(self.path, Book(entries=self.entries).model_dump_json(indent=1))
                self.unwritten = ""
            except OSError as error:
                self.unwritten = unwritten(error)


def read_ledger(folder: Path) -> list[Entry]:
    """The entries of a run folder; none where it has no ledger. DamagedError for a damaged one."""
    try:
        return read_document(folder / LEDGER, Book).entries
    except FileNotFoundError:
        return []


def as_csv(entries: list[Entry]) -> str:
    """One line a kernel, with a head line."""
    out = io.StringIO()
    names = list(Entry.model_fields)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for e in entries:
        writer.writerow(["" if (v := getattr(e, n)) is None else _plain(v) for n in names])
    return out.getvalue()


def _plain(value: object) -> object:
    """Text that a spreadsheet takes for a formula is quoted."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
