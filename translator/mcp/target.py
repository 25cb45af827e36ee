"""A target is judged as a copy in the run folder: `verify` writes beside what it reads."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from translator.mcp.roots import RefusedError

_FILES = 2000
_ONE = 16_000_000  # bytes of a file
_ALL = 64_000_000  # bytes
_DEEP = 6  # folders
_NEEDED = "spec.toml"
_MADE = "verdict.json"  # an earlier one is not copied: `verify` would keep it where it tells of more


def copied(folder: Path, into: Path, given: str) -> Path:
    """A copy of the target in `folder`, below `into`. RefusedError CP5505 for what is no target, or more
    than one has; then nothing is left of the copy."""
    place = into / folder.name
    try:
        if not (folder / _NEEDED).is_file():
            raise RefusedError("CP5505", path=given, reason=f"it has no {_NEEDED}")
        total = 0
        for k, (source, size) in enumerate(_files(folder, given), 1):
            total += size
            if k > _FILES or total > _ALL:
                raise RefusedError("CP5505", path=given, reason="it has more than a target has")
            _copy(source, place / source.relative_to(folder), given)
    except OSError as error:
        shutil.rmtree(into, ignore_errors=True)
        raise RefusedError("CP5505", path=given, reason=error.strerror or type(error).__name__) from None
    except RefusedError:
        shutil.rmtree(into, ignore_errors=True)
        raise
    return place


def _files(folder: Path, given: str, depth: int = 0) -> Iterator[tuple[Path, int]]:
    """Regular files in order, with their bytes. RefusedError for anything else, and for what is too deep."""
    if depth > _DEEP:
        raise RefusedError("CP5505", path=given, reason="its folders are too deep")
    for entry in sorted(folder.iterdir()):
        found = entry.lstat()
        if depth == 0 and entry.name == _MADE:
            continue
        if stat.S_ISDIR(found.st_mode):
            if entry.name != "__pycache__":
                yield from _files(entry, given, depth + 1)
        elif not stat.S_ISREG(found.st_mode):
            raise RefusedError("CP5505", path=given, reason=f"{entry.name} is a link or no regular file")
        elif found.st_size > _ONE:
            raise RefusedError("CP5505", path=given, reason=f"{entry.name} is too large")
        else:
            yield entry, found.st_size


def _copy(source: Path, to: Path, given: str) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    # What was a file a moment ago may be a link by now: it is not followed, and a pipe is not waited for.
    fd = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as stream:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise RefusedError("CP5505", path=given, reason=f"{source.name} is no regular file")
        to.write_bytes(stream.read(_ONE))
