"""Runs a compiler so that it ends with this process, however that ends; who waits is told that it runs."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence

_EVERY = 1.0  # seconds between two signs of life
# A compiler is several processes, and a killed parent kills none of them. They are a group of their own, with
# a watcher that reads a pipe of ours: when we end, by SIGKILL too, it reads the end and kills the group.
_WATCHED = """
exec 3<&0 0</dev/null
"$@" 3<&- &
work=$!
{ read -r line <&3; kill -9 0; } >/dev/null 2>&1 &
exec 3<&-
wait $work
"""


def _nobody_waits() -> None:
    pass


waiting: Callable[[], None] = _nobody_waits
"""Called now and then while a compiler runs, and when it has ended. A worker tells its parent, whose limit on
the time of a run then starts anew."""


def run(command: Sequence[str], seconds: float) -> tuple[int, str]:
    """(exit status, what it wrote to stderr). OSError where it can't be started, subprocess.TimeoutExpired
    after `seconds`; then and after any exception nothing of it is left running."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHED, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            _wait(process, command, seconds)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # the watcher, and what is left of the work
            process.wait()
            assert process.stdin is not None
            process.stdin.close()
        waiting()
        said.seek(0)
        return process.returncode, said.read().decode("utf-8", "replace")


def _wait(process: subprocess.Popen[bytes], command: Sequence[str], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not _ended(process, min(_EVERY, max(0.0, end - time.monotonic()))):
        if time.monotonic() >= end:
            raise subprocess.TimeoutExpired(command, seconds)
        waiting()


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it ended, at the latest after `seconds`."""
    try:
        handle = os.pidfd_open(process.pid)  # wakes at once, where wait() looks every 50 ms
    except OSError:  # an old kernel, or a sandbox that lacks it
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return process.poll() is not None
    with os.fdopen(handle, "rb") as file:
        return bool(select.select([file], [], [], seconds)[0])
