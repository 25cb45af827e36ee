"""A new entry gets its place: whole, or not at all."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from corpus.catalog import named
from corpus.files import alone
from corpus.problem import CorpusError, Problem

# What making a folder fails with where something else has its name.
_IN_THE_WAY = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)


def taken(family: str, name: str, root: Path) -> list[Problem]:
    """CP5012 where the place is taken, or the id, which is unique over all families."""
    folder = root / family / name
    if folder.exists() or folder.is_symlink():
        return [Problem("CP5012", folder, "exists already")]
    words = f"has the id {name}; an id is unique over all families"
    return [Problem("CP5012", other, words) for other in named(name, root)]


def put(family: str, name: str, root: Path, fill: Callable[[Path], None]) -> Path:
    """The folder of a new entry with what `fill` writes: made beside it, then renamed. CorpusError CP5012
    where it is taken, if by another process meanwhile. OSError passes."""
    folder = root / family / name
    try:
        root.mkdir(parents=True, exist_ok=True)
        with alone(root):
            if problems := taken(family, name, root):
                raise CorpusError(problems)
            _fill(folder, root, fill)
    except OSError as e:
        if e.errno not in _IN_THE_WAY:
            raise
        told = Problem("CP5012", Path(e.filename2 or e.filename or folder), f"is in the way: {e.strerror}")
        raise CorpusError([told]) from e
    return folder


def _fill(folder: Path, root: Path, fill: Callable[[Path], None]) -> None:
    new_family = not folder.parent.exists()
    folder.parent.mkdir(exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=root, prefix=".new-"))  # no family's name
    try:
        fill(made)
        made.chmod(0o755)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        with suppress(OSError):
            if new_family:
                folder.parent.rmdir()
        raise
