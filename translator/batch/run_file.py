"""`run.json`: what a run with a model was asked to do, so that it can be listed, resumed and compared."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from translator.diag.codes import CODES
from translator.loop.json_file import DamagedError, read_document
from translator.loop.ledger import Entry, read_ledger
from translator.output import naming, write_file
from translator.settings import SettingsError

RUN = "run.json"
LOCK = "run.lock"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Asked(Strict):
    """One target folder: `name` is its folder in the run."""

    name: str
    target: str
    mode: Literal["port", "lift", "tune"]
    out: str


class RunFile(Strict):
    """`started` is UTC; `base_url` has no user, no key and no query in it, "" for a replay."""

    schema_version: Literal[1] = 1
    started: str
    model: str
    base_url: str
    turns: int
    tokens: int
    money: float
    seconds: float
    candidates: int
    device: str
    arch: str
    asked: list[Asked]


class Listed(Strict):
    """One run folder with what it came to."""

    folder: str
    run: RunFile
    entries: list[Entry]

    @property
    def open(self) -> list[Asked]:
        """What did not pass yet."""
        passed = {(e.target, e.mode) for e in self.entries if e.outcome == "PASSED"}
        return [a for a in self.run.asked if (a.target, a.mode) not in passed]


class RunFileError(SettingsError):
    """CP5407: a run folder that is missing, damaged, or not of a run with a model; the message says which."""

    def __init__(self, run: Path, why: str) -> None:
        super().__init__(f"CP5407: {CODES['CP5407'].message.format(run=run, why=why)}")


class RunBusyError(SettingsError):
    """CP5408: another process works in the run folder."""

    def __init__(self, run: Path) -> None:
        super().__init__(f"CP5408: {CODES['CP5408'].message.format(run=run)}")


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """The run folder is this process's until the end of the block, or of the process, however it ends.
    RunBusyError where another one works in it; OSError where that can't be told."""
    with (folder / LOCK).open("ab") as held:
        try:
            with naming(folder / LOCK):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunBusyError(folder) from None
        yield


def write_run(folder: Path, run: RunFile) -> None:
    """Write `run.json`. OSError where it can't be."""
    write_file(folder / RUN, run.model_dump_json(indent=1))


def read_run(folder: Path) -> Listed:
    """The run in `folder`. RunFileError."""
    try:
        return Listed(
            folder=str(folder), run=read_document(folder / RUN, RunFile), entries=read_ledger(folder)
        )
    except FileNotFoundError:
        raise RunFileError(folder, f"no {RUN} there, so it is no run with a model") from None
    except DamagedError as damaged:
        raise RunFileError(folder, str(damaged)) from None
    except OSError as error:
        raise RunFileError(folder, f"{error.filename}: {error.strerror}") from None


def list_runs(runs: Path) -> tuple[list[Listed], list[str]]:
    """(the runs with a model under `runs`, oldest first; what can't be read of others)."""
    found, problems = [], []
    for path in sorted(runs.glob(f"*/{RUN}")):
        try:
            found.append(read_run(path.parent))
        except RunFileError as error:
            problems.append(str(error))
    return found, problems


def folder_of(run: Path, runs: Path) -> Path:
    """The run folder that a user means: a path, or a name under `runs`."""
    return run if run.is_dir() or len(run.parts) > 1 else runs / run
