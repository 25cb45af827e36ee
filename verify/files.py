"""Files that a reader never sees half of: written under a temporary name, then renamed. And reading what
others put there: a pipe waits for ever, a device has no end. OSError passes."""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

_MOST = 256 << 20  # bytes; verdicts of a few hundred kB are large ones
_NAME = 80  # characters of the file's own name that its temporary one keeps


def irregular(path: Path) -> bool:
    """True for a device, a pipe or a socket, through links too; not for a folder or what is not there."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def read_bytes(path: Path) -> bytes:
    """The bytes of a regular file."""
    if irregular(path):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if (size := path.stat().st_size) > _MOST:
        raise OSError(errno.EFBIG, f"{size} bytes are too many", str(path))
    return path.read_bytes()


def read_text(path: Path) -> str:
    """The UTF-8 text of a regular file. UnicodeDecodeError."""
    return read_bytes(path).decode("utf-8")


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file, readable for all. An OSError names the file, not its temporary one."""
    try:
        _replace(path, data)
    except OSError as e:
        raise OSError(e.errno, e.strerror, str(path)) from e


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name[:_NAME]}.")
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Replace a file by text; what is no UTF-8, as in a path's bytes, is escaped."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, data: Any) -> None:
    """Replace a file by JSON."""
    write_bytes(path, (json.dumps(data, indent=1) + "\n").encode("utf-8"))
