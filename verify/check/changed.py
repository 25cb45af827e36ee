"""Which targets git says were touched since a revision."""

from __future__ import annotations

import fnmatch
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

# What every target depends on, wherever it lies: the tool's settings and what is installed from.
SHARED = ("cuteport.toml", "pyproject.toml", "requirements*.txt", "constraints*.txt", "*.lock", "verify/**")
# What a check or a verification writes into a target.
_WRITTEN = ("verdict.json",)


class GitError(Exception):
    """git can't say; the text is its own."""


def touched(revision: str, folder: Path) -> tuple[Path, list[str]]:
    """The work tree's root, and the paths in it that differ from `revision`, untracked files included.
    GitError where there is no work tree, no such revision or no git."""
    root = Path(_git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    name = f"{revision}^{{commit}}"
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name).strip()
    changed = _git(root, "diff", "--name-only", "--no-renames", "-z", commit, "--")
    fresh = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return root, sorted({p for p in (changed + fresh).split("\0") if p})


def affected(targets: Sequence[Path], root: Path, paths: Iterable[str], shared: Sequence[str]) -> list[Path]:
    """The targets that the paths belong to; all of them where a path is shared. Targets outside the work
    tree, of which git knows nothing, are always in."""
    paths = list(paths)
    if any(fnmatch.fnmatchcase(p, pattern) for p in paths for pattern in shared):
        return list(targets)
    found = []
    for target in targets:
        place = target.resolve()
        if not place.is_relative_to(root.resolve()):
            found.append(target)
            continue
        inside = place.relative_to(root.resolve()).as_posix() + "/"
        if any(p.startswith(inside) and p[len(inside) :] not in _WRITTEN for p in paths):
            found.append(target)
    return found


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
            errors="surrogateescape",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as e:
        raise GitError(f"git can't be asked: {e}") from e
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise GitError(said[0] if said else f"git {arguments[0]} found nothing for {arguments[-1]}")
    return done.stdout
