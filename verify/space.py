"""Room on the disk that scratch files lie on. A run that ended for want of it says nothing about a port."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path

CODE = "CP9005"
_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
# How C++ and NumPy tell of it, where no errno comes along.
_TEXT = re.compile(r"No space left on device|^\d+ requested and \d+ written$")
_LEAST = 1 << 20  # bytes: compilers remove what they wrote before they failed


class DiskFullError(OSError):
    """What a child ran failed on a full disk; `said` is its last word on it."""

    def __init__(self, said: str = "") -> None:
        super().__init__(errno.ENOSPC, said.strip().splitlines()[-1][:200] if said.strip() else "it ended")


def is_full(folder: Path) -> bool:
    """True where the disk of a folder has no room for another file."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    no_files = disk.f_files > 0 and disk.f_favail == 0
    return disk.f_blocks > 0 and (disk.f_bavail * disk.f_frsize < _LEAST or no_files)


def in_scratch(error: OSError) -> bool:
    """True where the full disk is that of scratch files, not one that results are written to."""
    below = Path(os.fsdecode(error.filename or "")).is_relative_to(tempfile.gettempdir())
    return isinstance(error, DiskFullError) or (below and from_full_disk(error))


def words(error: OSError) -> str:
    """What a person is told of a full disk."""
    return f"no room in {tempfile.gettempdir()} ($TMPDIR chooses another): {error.strerror or error}"


def from_full_disk(error: BaseException | None) -> bool:
    """True where an error, or one that it came from, says that the disk is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _ERRNOS:
            return True
        if _TEXT.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False
