"""One lock per GPU for all verify processes of a machine: timings wait until nobody else uses it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


class GpuLock:
    """Shared by those that compare values, held alone by who measures time. From one thread at a time. Where
    no lock file can be had, nothing is locked."""

    def __init__(self, uuid: str, folder: Path | None = None) -> None:
        name = hashlib.sha256(uuid.encode()).hexdigest()[:16]
        place = folder or Path(tempfile.gettempdir())
        self.path, self._turn = place / f"cuteport-gpu-{name}.lock", place / f"cuteport-gpu-{name}-turn.lock"
        self._fd: int | None = None

    def take(self, *, alone: bool) -> None:
        """Wait until the GPU is free, for others that compare too or for this process alone."""
        if self._fd is None:
            self._fd = _opened(self.path)
        if self._fd is None:
            return
        if not alone:
            fcntl.flock(self._fd, fcntl.LOCK_SH)
            return
        with _held(self._turn, fcntl.LOCK_EX):  # nobody begins to share while this waits
            fcntl.flock(self._fd, fcntl.LOCK_EX)

    def pass_turn(self) -> None:
        """Wait while a process waits to be alone, from any thread: by comparisons that overlap without an end
        another process would keep it waiting until its last one."""
        with _held(self._turn, fcntl.LOCK_SH):
            pass

    def release(self) -> None:
        if self._fd is not None:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _opened(path: Path) -> int | None:
    # Another user's file will do: locking needs no right to write.
    for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT):
        with contextlib.suppress(OSError):
            return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    return None


@contextlib.contextmanager
def _held(path: Path, how: int) -> Iterator[None]:
    """The lock of `path`, where it can be had."""
    fd = _opened(path)
    try:
        if fd is not None:
            fcntl.flock(fd, how)
        yield
    finally:
        if fd is not None:
            os.close(fd)
