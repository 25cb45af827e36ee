"""Children that run foreign code: confined, limited, timed, ended with all that they started.

The parent talks to a child in JSON lines: jobs on its stdin, events on a private pipe. Its stdout and stderr
go to a log, so nothing it prints can look like a result. Each event carries a token that the parent hands to
the worker before foreign code is loaded; what comes without it is no event.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from verify.confine import kill_below, machine_memory
from verify.space import DiskFullError, is_full

_ROOT = Path(__file__).resolve().parent.parent
_LOG_TAIL = 4000
_MAX_LINE = 64 * 1024 * 1024
Event = dict[str, Any]
Level = Literal["full", "files", "none"]
LEVELS: tuple[Level, ...] = ("full", "files", "none")  # see confine.enclose
_VARIABLE = "CUTEPORT_ISOLATION"


class ChildTimeoutError(Exception):
    """The child gave no sign for longer than the limit. It has been killed."""


class ChildDiedError(Exception):
    """The child ended before it answered. `how` is its signal or exit code, `log` the end of its output."""

    def __init__(self, how: str, log: str) -> None:
        super().__init__(how)
        self.how = how
        self.log = log


_LIVE: weakref.WeakSet[Child] = weakref.WeakSet()
_HELD: dict[str, set[str]] = {}  # what held in the children of this process so far
_level: list[Level] = []
_ends: list[None] = []


def level() -> Level:
    """How far children are confined: $CUTEPORT_ISOLATION, or as far as the kernel grants."""
    if _level:
        return _level[0]
    chosen = os.environ.get(_VARIABLE, "full")
    return next((known for known in LEVELS if known == chosen), "full")


def set_level(to: Level) -> None:
    """Confine children so from now on: some GPU may not start in a tighter place."""
    _level[:] = [to]


def memory_limit() -> int:
    """Bytes that a child without CUDA may take: what leaves the machine able to go on."""
    return machine_memory() // 4 * 3


def confinement() -> dict[str, str]:
    """What held in this process's children; where it was not the same in all, all that was seen."""
    return {name: " / ".join(sorted(seen)) for name, seen in sorted(_HELD.items())}


def end_all() -> None:
    """Kill every child of this process, from any thread: the work is being given up."""
    _ends.append(None)
    for child in list(_LIVE):
        child.kill()


def ends() -> int:
    """How often all work was given up so far: who starts one child after the other asks between them."""
    return len(_ends)


class Child:
    """One worker process. Use as a context manager, from one thread.

    `writable` are folders that it may write to besides its scratch folder; `memory` bounds its private memory
    in bytes, which no child that uses CUDA can live with. `argv` in place of the worker is for tests.
    """

    def __init__(
        self,
        env: Mapping[str, str] | None = None,
        argv: list[str] | None = None,
        writable: Iterable[str | Path] = (),
        memory: int | None = None,
    ) -> None:
        self.scratch = Path(tempfile.mkdtemp(prefix="cuteport-"))
        self._log = (self.scratch / "log").open("wb")
        read, write = os.pipe()
        full = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        place = str(self.scratch)
        full |= {"TMPDIR": place, "CUDA_CACHE_PATH": place}
        self._token = "" if argv else secrets.token_hex(16)
        asked = {"level": level(), "writable": [place, *map(str, writable)], "memory": memory}
        asked["token"] = bool(self._token)
        # `verify` must be importable in the child however the parent found it.
        full["PYTHONPATH"] = os.pathsep.join(p for p in (full.get("PYTHONPATH", ""), str(_ROOT)) if p)
        command = argv or [sys.executable, "-P", "-m", "verify.worker"]
        try:
            self._process = subprocess.Popen(
                [*command, str(write), str(os.getpid()), *([] if argv else [json.dumps(asked)])],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=(write,),
                start_new_session=True,
                env=full,
                cwd=self.scratch,
            )
        except BaseException:
            os.close(read)
            self._log.close()
            shutil.rmtree(self.scratch, ignore_errors=True)
            raise
        finally:
            os.close(write)
        self._read = read
        self._buffer = b""
        self._closed = self._killed = False
        self.jobs = 0  # finished so far
        self._in_namespace = False
        _LIVE.add(self)
        if self._token:
            with contextlib.suppress(OSError):  # it is gone already: the first request tells
                self._send({"token": self._token})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(
        self,
        job: Mapping[str, Any],
        timeout: float,
        on_event: Callable[[Event], None] | None = None,
        total: float | None = None,
    ) -> Event:
        """Run `job`; returns its `done` event. `timeout` (seconds) starts anew with each event, `total` does
        not. ChildTimeoutError, ChildDiedError; DiskFullError where it failed while the disk of its scratch
        folder was full."""
        end = time.monotonic() + (total if total is not None else 1e9)
        try:
            self._send(job)
        except OSError:
            raise self._died() from None
        while True:
            event = self._next(min(time.monotonic() + timeout, end))
            if event.get("event") == "confined":
                self._confined(event)
            elif event.get("event") == "done":
                self.jobs += 1
                if event.get("ok") is False and (event.get("full") or is_full(self.scratch)):
                    raise DiskFullError(str(event.get("message", "")))
                return event
            if on_event is not None:
                on_event(event)

    def _send(self, job: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()

    def _next(self, deadline: float) -> Event:
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            ready = select.select([self._read], [], [], max(0.0, left))[0] if left > 0 else []
            if not ready:
                self.kill()
                raise ChildTimeoutError
            chunk = os.read(self._read, 1 << 16)
            if not chunk or len(self._buffer) > _MAX_LINE:
                raise self._died()
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or not hmac.compare_digest(
            str(event.pop("token", "")).encode(), self._token.encode()
        ):
            self.kill()
            raise ChildDiedError("it wrote what is no result to the result pipe", self.log())
        return event

    def _confined(self, event: Event) -> None:
        for name, how in event.items():
            if name != "event":
                _HELD.setdefault(name, set()).add(str(how))
        self._in_namespace = event.get("processes") == "namespace"

    def _died(self) -> ChildDiedError | DiskFullError:
        if is_full(self.scratch):  # what is mapped from a file there ends a process
            self.kill()
            return DiskFullError(self.log())
        try:
            code = self._process.wait(timeout=5)
            how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        except subprocess.TimeoutExpired:
            how = "closed its result pipe"
        except ValueError:
            how = "killed by an unknown signal"
        self.kill()
        return ChildDiedError(how, self.log())

    def log(self) -> str:
        """The end of what the child printed."""
        with contextlib.suppress(OSError), (self.scratch / "log").open("rb") as f:
            f.seek(0, os.SEEK_END)
            f.seek(max(0, f.tell() - _LOG_TAIL))
            return f.read().decode("utf-8", "replace")
        return ""

    def kill(self) -> None:
        """End it and all that it started, and only once: later its number may be another's."""
        if self._killed:
            return
        self._killed = True
        if not self._in_namespace:  # there the kernel ends all with the first process
            kill_below(self._process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)

    def close(self) -> None:
        """End the child (also if it is in the middle of a job) and remove its scratch folder."""
        if self._closed:
            return
        self._closed = True
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self.kill()
        os.close(self._read)
        self._log.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
