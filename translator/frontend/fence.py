"""Where reading may lead: sources of strangers are read below given folders only.

Without folders there is no fence. A name is judged by how it is written before anything looks for it: where
"outside" and "not there" are answered differently, an answer tells which files there are.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Sequence
from pathlib import Path


def holds(below: Sequence[str], path: str | Path) -> bool:
    """Whether `path`, with its links followed, is one of the folders `below` or lies in one."""
    if not below:
        return True
    try:
        real = Path(path).resolve()
    except (OSError, ValueError, RuntimeError):  # no name of the system's, links in a circle
        return False
    return any(real.is_relative_to(Path(b).resolve()) for b in below)


def written_inside(below: Sequence[str], own: Path, name: str, folders: Iterable[str]) -> bool:
    """Whether an include of `name` in a file of the folder `own` stays inside as it is written, whatever of
    it exists. `folders` are searched after `own`."""
    if not below:
        return True
    roots = [r for b in below for r in {os.path.abspath(b), os.path.realpath(b)}]  # noqa: PTH100
    if not os.path.isabs(name) and ".." not in Path(name).parts:  # noqa: PTH117
        return True
    places = [os.path.join(os.path.abspath(f), name) for f in (str(own), *folders)]  # noqa: PTH100, PTH118
    return all(_under(roots, os.path.normpath(p)) for p in places)


def _under(roots: Sequence[str], path: str) -> bool:
    return any(path == r or path.startswith(r.rstrip("/") + "/") for r in roots)
