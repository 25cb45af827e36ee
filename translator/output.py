"""Writing ports to disk: whole or not at all.

A folder is made under a temporary name beside its place and then renamed; into a folder that exists,
each file is renamed over the old one, `port.py` last, once all are on disk. A full disk, a refused
permission or Ctrl-C therefore leaves the earlier `port.py` or the new one, never half of one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from translator.diag.codes import CODES

_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_LONGEST = 100  # characters of a folder name; file systems stop at 255 bytes
MANIFEST = "line_map.json"
TASK = "task.json"  # the manifest of a task folder: see translator/task.py
_LAST = "port.py"  # what says "this folder is whole"
_EDITABLE = ("port.py", "spec.toml")


class EditedError(Exception):
    """The folder holds a `port.py` that was edited since it was generated."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a folder name is made from; `line` orders kernels of one name in one file."""

    kernel: str
    instantiation: str
    source: str
    line: int


def file_safe(text: str) -> str:
    """`text` as part of a file name: ASCII letters, digits and underscores, never empty."""
    name = _UNSAFE.sub("_", text).strip("_") or "kernel"
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 9]}_{_short_hash(text)}"
    return name


def folder_names(wanted: Sequence[Wanted]) -> list[str]:
    """One folder name per kernel, in the order given, the same whatever that order is.

    `k`, or `k__float_8` for an instantiation. Kernels that would share a name are told apart by the
    stem of their file, then by a hash of its path, then by their order in it.
    """
    steps: tuple[Callable[[Wanted], str], ...] = (
        _base,
        lambda w: f"{file_safe(Path(w.source).stem)}__{_base(w)}",
        lambda w: f"{file_safe(Path(w.source).stem)}_{_short_hash(w.source)[:6]}__{_base(w)}",
    )
    names: dict[Wanted, str] = {}
    pending = list(dict.fromkeys(wanted))
    for step in steps:
        tried: dict[str, list[Wanted]] = {}
        for w in pending:
            tried.setdefault(step(w).casefold(), []).append(w)
        taken = {n.casefold() for n in names.values()}
        pending = []
        for key, group in tried.items():
            if len(group) == 1 and key not in taken:
                names[group[0]] = step(group[0])
            else:
                pending += group
    used = {n.casefold() for n in names.values()}
    for w in sorted(pending, key=lambda w: (w.source, w.line, w.kernel, w.instantiation)):
        count, name = 1, steps[-1](w)
        while name.casefold() in used:
            count += 1
            name = f"{steps[-1](w)}_{count}"
        used.add(name.casefold())
        names[w] = name
    return [names[w] for w in wanted]


def _base(w: Wanted) -> str:
    inst = w.instantiation
    if "<" not in inst:
        return file_safe(w.kernel)
    return f"{file_safe(w.kernel)}__{file_safe(inst[inst.index('<') + 1 :])}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def line_map(
    entry: str, lines: Iterable[tuple[int, str, int]], renames: Mapping[str, str], port: str, spec: str
) -> str:
    """`line_map.json`: which CUDA line each emitted line came from, and the hashes that tell an edit."""
    return json.dumps(
        {
            "format": 1,
            "entry": entry,
            "port_sha256": sha256(port.encode()),
            "spec_sha256": sha256(spec.encode()),
            "renames": dict(renames),
            "lines": [list(line) for line in lines],
        },
        indent=None,
        separators=(",", ":"),
    )


def edited(folder: Path) -> set[str]:
    """Which of `port.py` and `spec.toml` in `folder` differ from what was generated there."""
    known = _manifest(folder)
    found = set()
    for name in _EDITABLE:
        with contextlib.suppress(FileNotFoundError):
            now = sha256((folder / name).read_bytes())
            if not isinstance(known, dict) or known.get(f"{name.split('.')[0]}_sha256") != now:
                found.add(name)
    return found


def _manifest(folder: Path) -> object:
    for name in (MANIFEST, TASK):
        try:
            return json.loads((folder / name).read_text())
        except (OSError, ValueError):
            continue
    return {}


def write_folder(folder: Path, files: Mapping[str, str | bytes], *, force: bool = False) -> set[str]:
    """Write `files` (name → content; a name may hold one `/`) to `folder`; return the names left alone.

    An edited `spec.toml` is the user's answer to the tool's questions: it is kept unless `force`.
    Raises EditedError where `port.py` was edited, or put into the folder of a task, and OSError where the
    disk says no; both leave the folder as it was. A task never replaces a `port.py` that someone wrote.
    """
    kept: set[str] = set()
    if not force and folder.is_dir():
        changed = edited(folder)
        if "port.py" in changed:
            raise EditedError(str(folder / "port.py"))
        kept = changed & set(files)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=".cuteport-", dir=folder.parent, ignore_cleanup_errors=True
    ) as held:
        new = Path(held) / "new"
        new.mkdir()
        for name, content in files.items():
            if name not in kept:
                _write(new / name, content)
        if not folder.exists():
            new.replace(folder)
            return kept
        for path in sorted(new.rglob("*"), key=lambda p: (p.name == _LAST, str(p))):
            place = folder / path.relative_to(new)
            if path.is_dir():
                place.mkdir(exist_ok=True)
            else:
                path.replace(place)
        _tidy(folder, files)
    return kept


def _tidy(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Remove what a port of before left in what is a task now, and the other way round: never a `port.py`
    that was edited, which `write_folder` lets pass by force only."""
    if _LAST in files:
        (folder / TASK).unlink(missing_ok=True)
    elif TASK in files:
        if (folder / MANIFEST).exists() and _LAST not in edited(folder):
            (folder / _LAST).unlink(missing_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """An OSError of what is done inside names `path`, if it has no file of its own: the system's names none
    where an open file is written to, and the source first where one is copied."""
    try:
        yield
    except shutil.Error as error:  # of a tree: what was said of each file, and no number
        raise OSError(errno.EIO, str(error.args[0][0][2]), str(path)) from error
    except OSError as error:
        if error.filename is not None and error.filename2 is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def unwritten(error: OSError, path: Path | str = "") -> str:
    """What CP0002 says of an error; of `path` where the error names none."""
    named = error.filename
    place = os.fsdecode(named) if isinstance(named, str | bytes) else path
    return CODES["CP0002"].message.format(path=place, reason=error.strerror or type(error).__name__)


def write_file(path: Path, content: str | bytes) -> None:
    """Write one file under a temporary name, then rename it into place. An OSError names `path`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".cuteport-", dir=path.parent)
        os.close(handle)
        try:
            _write(Path(temporary), content)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:  # of its temporary name, or of none
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    with path.open("wb") as stream:
        stream.write(data)
