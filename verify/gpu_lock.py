"""One lock per GPU for all verify processes of a machine: timings wait until nobody else uses it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from pathlib import Path


class GpuLock:
    """Shared by those that compare values, held alone by who measures time. From one thread at a time. Where
    no lock file can be had, nothing is locked."""

    def __init__(self, uuid: str, folder: Path | None = None) -> None:
        name = hashlib.sha256(uuid.encode()).hexdigest()[:16]
        self.path = (folder or Path(tempfile.gettempdir())) / f"cuteport-gpu-{name}.lock"
        self._fd: int | None = None

    def take(self, *, alone: bool) -> None:
        """Wait until the GPU is free, for others that compare too or for this process alone."""
        if (fd := self._opened()) is not None:
            fcntl.flock(fd, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)

    def release(self) -> None:
        if self._fd is not None:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _opened(self) -> int | None:
        # Another user's file will do: locking needs no right to write.
        for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT):
            if self._fd is None:
                with contextlib.suppress(OSError):
                    self._fd = os.open(self.path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        return self._fd
