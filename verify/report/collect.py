"""What a report is made of: target folders, their verdicts and sources. A folder that is broken is told as
such and costs the others nothing."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from verify.certificate import seal_of
from verify.files import read_bytes
from verify.origin import read_origin
from verify.report.visible import lines_of
from verify.verdict import Report, Verdict

_VERDICT, _SPEC, _PORT, _SLICE, _MAP = "verdict.json", "spec.toml", "port.py", "device.cu", "line_map.json"
_UNSHOWN = {"spec": _SPEC, "reference": "reference.py"}  # what a verdict rests on besides the two sources
HEAD = b"<!DOCTYPE html>"  # how a report begins
_DEEPEST = 3  # folders below the one given in which targets are looked for
_LARGEST = 4 << 20  # bytes of a source that is shown
NO_VERDICT, UNREADABLE, NO_SOURCE, CHANGED, BROKEN_SEAL = "CP9501", "CP9502", "CP9503", "CP9504", "CP9505"


class NothingToReportError(Exception):
    """A path that does not exist or holds no target."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What of a target can't be shown, or is not what was verified."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One target. `anchor` is its id in the document. `cuda` is the author's file; the slice that is compiled
    follows it where the two differ. `links` are (line of the port, line of the first CUDA source), from 1."""

    folder: Path
    name: str
    anchor: str
    verdict: Verdict | None
    problems: tuple[Problem, ...] = ()
    port: Source | None = None
    cuda: tuple[Source, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    origin: str = ""

    @property
    def unreadable(self) -> bool:
        return any(p.code == UNREADABLE for p in self.problems)


@dataclass(slots=True)
class _Found:
    """A folder, and its verdict where that came from elsewhere."""

    folder: Path
    verdict: Verdict | None = None
    problems: list[Problem] = field(default_factory=list)


class _Head(BaseModel):
    model_config = ConfigDict(extra="ignore")
    schema_version: int = 1
    verdicts: list[object] | None = None


def collect(paths: Sequence[Path]) -> list[Entry]:
    """The targets of `paths`, each once: target folders, folders that hold some, verdict.json files, or what
    `verify --json` printed. NothingToReportError names every path without any."""
    found: dict[Path, _Found] = {}
    empty: list[str] = []
    for path in paths:
        if _is_report(path):
            empty.append(f"{path}: a report, which holds no verdicts; name the folders that it is about")
        elif not (here := _find(path)):
            empty.append(f"{path}: {'no target in it' if path.exists() else 'no such file or folder'}")
        else:
            for one in here:
                found.setdefault(one.folder.absolute(), one)
    if empty:
        raise NothingToReportError("\n".join(empty))
    anchors: Counter[str] = Counter()
    return [_entry(one, anchors) for one in found.values()]


def _is_report(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as f:
            return f.read(len(HEAD)) == HEAD
    except OSError:
        return False  # reading it as a verdict says why


def _find(path: Path) -> list[_Found]:
    if path.is_dir():
        return [_Found(f) for f in _folders(path, _DEEPEST)]
    if not path.is_file():
        return []
    if path.name == _VERDICT:
        return [_Found(path.parent)]
    try:
        data = read_bytes(path)
        if _Head.model_validate_json(data).verdicts is not None:
            made = Report.model_validate_json(data)
            each = zip(made.verdicts, json.loads(data)["verdicts"], strict=True)
            return [_Found(Path(v.target), v, _unsealed(v, raw, path.name)) for v, raw in each]
        verdict = Verdict.model_validate_json(data)
        return [_Found(Path(verdict.target), verdict, _unsealed(verdict, json.loads(data), path.name))]
    except (OSError, ValidationError) as error:
        return [_Found(path, None, [Problem(UNREADABLE, _why(error))])]


def _folders(path: Path, depth: int) -> list[Path]:
    if (path / _VERDICT).exists() or (path / _SPEC).exists():
        return [path]
    try:
        inner = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []
    return [f for p in inner for f in _folders(p, depth - 1)] if depth else []


def _entry(one: _Found, anchors: Counter[str]) -> Entry:
    name = one.folder.name or one.folder.absolute().name
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[:80] or "kernel"
    anchors[slug.casefold()] += 1
    if (n := anchors[slug.casefold()]) > 1:
        slug = f"{slug}.{n}"  # no slug has a dot of its own
    problems = list(one.problems)
    if not one.folder.is_dir():
        if one.verdict is not None:
            problems.append(Problem(NO_SOURCE, f"{one.folder} is not here: its sources are not shown"))
        return Entry(one.folder, name, f"k-{slug}", one.verdict, tuple(problems))
    verdict = one.verdict or _read_verdict(one.folder / _VERDICT, problems)
    hashes = verdict.hashes if verdict is not None else {}
    port = _source(one.folder, _PORT, hashes.get("port"), problems)
    sliced = _source(one.folder, f"original/{_SLICE}", hashes.get("original"), problems)
    problems += _changed(one.folder, hashes)
    rows = _line_map(one.folder / _MAP, problems)
    author, links = _author(one.folder, rows, problems)
    cuda = tuple(s for s in (author, sliced) if s is not None)
    if len(cuda) == 2 and cuda[0].lines == cuda[1].lines:
        cuda = cuda[:1]
    origin = read_origin(one.folder)
    return Entry(one.folder, name, f"k-{slug}", verdict, tuple(problems), port, cuda, links, origin)


def _read_verdict(path: Path, problems: list[Problem]) -> Verdict | None:
    try:
        data = read_bytes(path)
        head = _Head.model_validate_json(data)
        if head.schema_version != 1:
            problems.append(
                Problem(UNREADABLE, f"{_VERDICT}: schema {head.schema_version} is not known, only 1")
            )
            return None
        verdict = Verdict.model_validate_json(data)
        problems += _unsealed(verdict, json.loads(data), path.name)
        return verdict
    except FileNotFoundError:
        problems.append(Problem(NO_VERDICT, f"no {_VERDICT} in {path.parent}"))
    except (OSError, ValidationError) as error:
        problems.append(Problem(UNREADABLE, f"{_VERDICT}: {_why(error)}"))
    return None


def _unsealed(verdict: Verdict, raw: dict[str, object], name: str) -> list[Problem]:
    """The problem of a verdict that is not as it was written; none where it is, or never had a seal."""
    if not verdict.seal or verdict.seal == seal_of(raw):
        return []
    return [Problem(BROKEN_SEAL, f"{name} changed after it was written: its seal does not fit")]


def _why(error: OSError | ValidationError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    told = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}".removeprefix(": ") for e in error.errors()]
    return "; ".join(told[:3]) + (f"; and {len(told) - 3} more" if len(told) > 3 else "")


def _read(folder: Path, name: str) -> bytes | None:
    """A file of the folder, not one that a link in it leads to elsewhere. OSError."""
    path = folder / name
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except RuntimeError:  # links that lead to each other
        inside = False
    if not inside or not path.is_file():
        return None
    if (size := path.stat().st_size) > _LARGEST:
        raise OSError(None, f"{size} bytes are too many to show")
    return path.read_bytes()


def _source(folder: Path, name: str, known: str | None, problems: list[Problem]) -> Source | None:
    try:
        data = _read(folder, name)
    except OSError as error:
        problems.append(Problem(NO_SOURCE, f"{name}: {error.strerror}"))
        return None
    if data is None:
        problems.append(Problem(NO_SOURCE, f"{name} is not in the folder"))
        return None
    if known and known != hashlib.sha256(data).hexdigest():
        problems.append(_stale(name))
    return Source(Path(name).name, tuple(lines_of(data)))


def _changed(folder: Path, hashes: Mapping[str, str]) -> Iterator[Problem]:
    """Files that are not shown, and are not what was verified: changed, gone, or a reference that came."""
    for part, name in _UNSHOWN.items():
        path = folder / name
        try:
            now = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        except OSError:
            now = ""
        if "spec" in hashes and now != hashes.get(part, ""):
            yield _stale(name)


def _stale(name: str) -> Problem:
    return Problem(CHANGED, f"{name} is not what was verified: it changed since")


def _line_map(path: Path, problems: list[Problem]) -> list[tuple[int, str, int]]:
    """(port line, CUDA file's name, CUDA line); the keys are those of the tool, now and earlier."""
    try:
        data = _read(path.parent, path.name)
        made = json.loads(data) if data is not None else {}
        rows = made.get("lines") or made.get("rows") or []
        return [(int(port), Path(str(cuda)).name, int(line)) for port, cuda, line in rows]
    except OSError as error:
        problems.append(Problem(NO_SOURCE, f"{path.name}: {error.strerror}"))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        problems.append(Problem(NO_SOURCE, f"{path.name}: {error}"))
    return []


def _author(
    folder: Path, rows: Iterable[tuple[int, str, int]], problems: list[Problem]
) -> tuple[Source | None, tuple[tuple[int, int], ...]]:
    """The file of original/ that most of the port came from, and the lines that link them."""
    rows = list(rows)
    try:
        here = sorted(p.name for p in (folder / "original").iterdir() if p.name != _SLICE)
    except OSError:
        return None, ()
    mentioned = Counter(name for _, name, _ in rows)
    best = max(here, key=lambda n: (mentioned[n.removeprefix("author_")], n.endswith(".cu")), default=None)
    if best is None:
        return None, ()
    source = _source(folder, f"original/{best}", None, problems)
    if source is None:
        return None, ()
    ours = {best, best.removeprefix("author_")}
    last = len(source.lines)
    return source, tuple(
        sorted({(p, c) for p, name, c in rows if name in ours and 1 <= c <= last and p >= 1})
    )
