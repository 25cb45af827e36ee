"""The folder of one check: a result file per target, each written as it is done, to go on from later."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from verify.check.model import TargetResult
from verify.files import write_json

_MANIFEST = "check.json"


class NoRunError(Exception):
    """There is no run that could be continued; the text says why."""


class RunFolder:
    """Held by one process at a time. `failed` says why results can't be kept, if they can't."""

    def __init__(self, path: Path, lock: IO[str] | None) -> None:
        self.path = path
        self.failed = ""
        self._lock = lock

    @classmethod
    def create(cls, runs: Path, dirs: list[str]) -> RunFolder:
        """A fresh `runs/<utc>-<id>/`. Where it can't be made, a run that keeps nothing and says so."""
        path = runs / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(3)}"
        try:
            (path / "targets").mkdir(parents=True)
            lock = _locked(path)
            write_json(path / _MANIFEST, {"schema_version": 1, "dirs": dirs, "finished": False})
        except OSError as e:
            made = cls(path, None)
            made.failed = f"results can't be kept in {path}: {e.strerror or e}"
            return made
        return cls(path, lock)

    @classmethod
    def last(cls, runs: Path, dirs: Sequence[Path] = ()) -> RunFolder:
        """The newest check in `runs` that did not end and that no process is at: of exactly these folders,
        where some are given. One that a newer check of the same folders made up for is past. NoRunError."""
        wanted = {d.resolve() for d in dirs}
        ended: dict[frozenset[Path], Path] = {}
        why = f"no check in {runs} to continue"
        for path in sorted((p.parent for p in runs.glob(f"*/{_MANIFEST}")), reverse=True):
            try:
                lock = _locked(path)
            except OSError as e:
                why = f"{path} can't be continued: {e.strerror or e}"
                continue
            if lock is None:
                why = f"{path} is still at work"
                continue
            made = cls(path, lock)
            of = frozenset(made.dirs)
            if made.finished:
                ended.setdefault(of, path)
            if of in ended:
                why = f"nothing to continue: {ended[of]} came to its end"
            elif wanted and of != wanted:
                why = f"{path} is a check of {', '.join(map(str, made.dirs)) or 'what it no longer says'}"
            else:
                return made
            made.close()
        raise NoRunError(why)

    @property
    def dirs(self) -> list[Path]:
        """The folders that the run was started with; empty where the record of them is damaged."""
        found = self._manifest().get("dirs")
        return [Path(d) for d in found if isinstance(d, str)] if isinstance(found, list) else []

    @property
    def finished(self) -> bool:
        """True where the run reached all its targets."""
        return self._manifest().get("finished") is True

    def finish(self) -> None:
        """All targets are reached: there is nothing to come back for."""
        if self.failed:
            return
        try:
            write_json(self.path / _MANIFEST, {**self._manifest(), "finished": True})
        except OSError as e:
            self.failed = f"results can't be kept in {self.path}: {e.strerror or e}"

    def _manifest(self) -> dict[str, Any]:
        try:
            data = json.loads((self.path / _MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}

    def stored(self, target: Path) -> TargetResult | None:
        """What the run found of a target; None where it did not get there, or the file is damaged."""
        try:
            return TargetResult.model_validate_json(self._of(target).read_bytes())
        except (OSError, ValidationError):
            return None

    def save(self, target: Path, result: TargetResult) -> None:
        if self.failed:
            return
        try:
            write_json(self._of(target), result.model_dump(mode="json", exclude_none=True))
        except OSError as e:
            self.failed = f"results can't be kept in {self.path}: {e.strerror or e}"

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _of(self, target: Path) -> Path:
        place = str(target.resolve())
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in target.name)[:80]
        return self.path / "targets" / f"{name}-{hashlib.sha256(place.encode()).hexdigest()[:12]}.json"


def _locked(path: Path) -> IO[str] | None:
    """The lock of a run folder, which ends with the process that holds it; None where another holds it."""
    with contextlib.ExitStack() as undo:
        held = undo.enter_context(os.fdopen(os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644), "r+"))
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        undo.pop_all()
        return held
