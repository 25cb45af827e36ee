"""Run folders `runs/<utc>-<id>/`: one file per stage, and the traceback when cuteport itself fails."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import time
import traceback
from pathlib import Path

from translator import __version__


def new_name() -> str:
    """`<utc>-<id>`, of a run folder."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(3)}"


def new_folder(runs: Path) -> Path:
    """A fresh `runs/<utc>-<id>/`; in the temporary folder where `runs` can't be written."""
    name = new_name()
    try:
        (runs / name).mkdir(parents=True)
        return runs / name
    except OSError:
        return Path(tempfile.mkdtemp(prefix=f"cuteport-{name}-"))


def planned_folder(runs: Path) -> Path:
    """Where a server's `runs/<utc>-<id>/` will lie, which is made when something is written there first.

    Where `runs` can't be written, it is in the temporary folder, by a name that others there can't guess.
    """
    place = runs.absolute()
    there = next(p for p in (place, *place.parents) if p.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return place / new_name()
    return Path(tempfile.gettempdir()) / f"cuteport-{new_name()}-{secrets.token_hex(8)}"


def record_bug(error: BaseException, *, runs: Path | None = None) -> str:
    """Write the traceback of `error` to a run folder; the CP0001 line that tells the user where it is."""
    text = "".join(traceback.format_exception(error))
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        folder = new_folder(runs or Path(os.environ.get("CUTEPORT_RUNS") or "runs"))
        save_bug(folder, text)
        where = f"the run folder {folder} holds the details"
    except OSError as failed:
        where = f"and no run folder could be written: {failed}"
    return f"error CP0001: internal error: {what}; {where}"


def save_bug(folder: Path, traceback_text: str, name: str = "traceback.txt") -> Path:
    """Write what a bug report needs to `folder/name`; returns the file."""
    head = f"cuteport {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n"
    head += f"arguments: {sys.argv[1:]}\n\n"
    path = folder / name
    path.write_text(head + traceback_text, encoding="utf-8")
    return path
