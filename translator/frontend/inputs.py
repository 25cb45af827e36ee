"""From what the user names (files, folders, compile_commands.json) to translation units with their flags."""

from __future__ import annotations

import errno
import itertools
import json
import re
import shlex
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from translator.diag.diagnostic import Sink, Span
from translator.frontend.fence import holds
from translator.frontend.included import MOST, megabytes, size_of

SUFFIXES = frozenset({".cu", ".cuh", ".h", ".hpp", ".hxx", ".hh", ".cpp", ".cc", ".cxx", ".inl", ".inc"})
_CUDA_SUFFIXES = frozenset({".cu", ".cuh"})
_NEIGHBOUR_FOLDERS = ("include", "utils", "common")
_BUILD_FILES = ("Makefile", "makefile", "CMakeLists.txt", "setup.py", "pyproject.toml", ".git")
_SEARCHED = 400  # files looked at for an includer
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # marks at a text's beginning
_BLOCK = 1 << 20  # bytes of a large file looked at together
_ANCESTORS = 5  # how far up neighbour folders are looked for; a repository's root ends the climb earlier
_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__"})
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.M)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the command line gives. `defines` are `NAME` or `NAME=VALUE`; `includes` are folders.

    `kernels` keeps only kernels of these names; `instantiate` holds texts such as `ns::k<float, 8>`.
    `opt_level` goes with them to the ports. `below` are the folders that sources and what they include may
    lie in, none for any.
    """

    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    std: str = "c++17"
    compile_commands: str | None = None
    kernels: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()
    opt_level: int | None = None
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file's text as clang must see it: `text` is None where the bytes on disk can be read as they are."""

    text: str | None
    data: bytes


@dataclass(frozen=True, slots=True)
class UnitInput:
    """One translation unit to parse.

    `requested` is False for includers found nearby; `named` tells a file of the command line from one in a
    folder, which may well hold no kernel of its own.
    """

    path: str
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    std: str = "c++17"
    requested: bool = True
    named: bool = False


@dataclass(slots=True)
class Inputs:
    """Translation units in a fixed order, and the files a kernel may be taken from (None: any user file)."""

    units: list[UnitInput] = field(default_factory=list)
    includers: list[UnitInput] = field(default_factory=list)  # parsed only if a kernel stays broken


def read_text(path: str, sink: Sink) -> SourceText | None:
    """The file at `path`, decoded; None after a diagnostic if it is missing, unreadable, binary or empty."""
    place = Span(path)
    file = Path(path)
    try:
        str(path).encode()
        data = b"" if (size := size_of(file)) > MOST else _regular(file)
    except UnicodeEncodeError:
        sink.report("CP1002", place, path=path, reason="its name is not UTF-8")
        return None
    except FileNotFoundError:
        sink.report("CP1001", place, path=path)
        return None
    except OSError as problem:
        sink.report("CP1002", place, path=path, reason=problem.strerror or type(problem).__name__)
        return None
    if size > MOST:
        sink.report("CP1017", place, path=path, size=megabytes(size), most=megabytes(MOST))
        return None
    if not data.strip():
        sink.report("CP1004", place, path=path)
        return None
    return decode(data, place, sink)


def _regular(file: Path) -> bytes:
    """The bytes of a regular file: a pipe may never end, a device neither. Raises OSError."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return file.read_bytes()


def decode(data: bytes, place: Span, sink: Sink) -> SourceText | None:
    """Text of `data`. UTF-8 needs no copy; a UTF-16 mark is obeyed; other bytes are read as Latin-1."""
    if data[:2] in _UTF16:
        try:
            return SourceText(data.decode("utf-16"), data)
        except UnicodeDecodeError:
            sink.report("CP1003", place, path=place.path)
            return None
    if b"\0" in data:
        sink.report("CP1003", place, path=place.path)
        return None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        sink.report("CP1006", place, path=place.path)
        return SourceText(data.removeprefix(b"\xef\xbb\xbf").decode("latin-1"), data)
    return SourceText(None, data)


def collect(paths: Sequence[str], options: ReadOptions, sink: Sink) -> Inputs:
    """The translation units for `paths`; without paths, those of `options.compile_commands`.

    A folder without kernels is only worth a word (CP1005) if nothing else was found either.

    A named file is one unit. A folder gives each source below it that holds `__global__`, and each that
    includes one of those. Files which include a named file are kept aside as includers.
    """
    found = Inputs()
    table = _commands(options.compile_commands, sink) if options.compile_commands else {}
    if not paths and table:
        listed = [(p, Path(p)) for p in sorted(table)]
        paths = [p for p, f in listed if b"__global__" in peek(f) or _speaks_of_kernels(f)]
    seen: set[str] = set()
    without: list[str] = []
    for path in paths:
        place = Path(path)
        if not path:  # Path would take it for the working folder
            sink.report("CP1001", Span(path), path='""')
        elif not holds(options.below, place):
            sink.report("CP5502", Span(path), path=path)
        elif place.is_dir():
            local = table or _nearby_commands(place, sink, options.below)
            away = [f for f in _walk(place) if not holds(options.below, f)] if options.below else []
            for file in away:
                sink.report("CP5502", Span(str(file)), path=str(file))
            files = _cuda_files(place, frozenset(away))
            if not files:
                without.append(path)
            for file in files:
                _add(found.units, str(file), options, local, seen)
        else:
            _add(found.units, path, options, table, seen, named=True)
    for path in without if not found.units else ():
        sink.report("CP1005", Span(path), path=path)
    for path in paths:  # after all units: an includer that is named itself is a unit
        if path and holds(options.below, path) and not Path(path).is_dir():
            for file in _includers(Path(path), options.below):
                _add(found.includers, str(file), options, table, seen, requested=False)
    return found


def _add(
    units: list[UnitInput],
    path: str,
    options: ReadOptions,
    table: dict[str, UnitInput],
    seen: set[str],
    *,
    requested: bool = True,
    named: bool = False,
) -> None:
    real = _real(path)
    if real in seen:
        return
    seen.add(real)
    flags = table.get(real, UnitInput(path, std=options.std))
    searched = dict.fromkeys((*options.includes, *flags.includes, *default_includes(path)))
    includes = [f for f in searched if holds(options.below, f)]
    defines = (*flags.defines, *options.defines)
    units.append(UnitInput(path, tuple(includes), defines, flags.std or options.std, requested, named))


def default_includes(path: str) -> list[str]:
    """The file's own folder and the `include`, `utils` and `common` folders of its ancestors."""
    own = Path(path).resolve().parent
    folders = [own]
    above = own
    for _ in range(_ANCESTORS):
        if above == Path(above.anchor) or above == Path("/usr"):
            break
        folders += [above / name for name in _NEIGHBOUR_FOLDERS if (above / name).is_dir()]
        if (above / ".git").exists():
            break
        above = above.parent
    return [str(f) for f in dict.fromkeys(folders)]


def _real(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except OSError:
        return path


def peek(path: Path) -> bytes:
    """The bytes of a file, UTF-16 as UTF-8; none where it can't be read or is too large for a source."""
    try:
        data = b"" if size_of(path) > MOST else _regular(path)
    except OSError:
        return b""
    return data.decode("utf-16", "replace").encode() if data[:2] in _UTF16 else data


def _walk(folder: Path) -> Iterable[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda p: p.name)
    except OSError:
        return
    for entry in entries:
        if _is_folder(entry):
            if entry.name not in _SKIPPED_FOLDERS and not entry.is_symlink():
                yield from _walk(entry)
        elif entry.suffix.lower() in SUFFIXES:
            yield entry


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # what is listed can't always be looked at
        return False


def _cuda_files(folder: Path, away: frozenset[Path]) -> list[Path]:
    """Sources below `folder` that hold `__global__`, and those that include one of them, sorted by path. What
    is `away` is not looked into.

    Those that will be refused unread are among them, for their kernels must not vanish unsaid: files that are
    too large and hold the word, and CUDA sources (by their suffix) that can't be opened.
    """
    near = [file for file in _walk(folder) if file not in away]
    data = {file: peek(file) for file in near}
    holding = {f for f, d in data.items() if b"__global__" in d and b"__global__" in _COMMENT.sub(b"", d)}
    holding |= {f for f, d in data.items() if not d and _speaks_of_kernels(f)}
    included = {
        file: {Path(n.decode("latin-1")).name for n in _INCLUDE.findall(d)} for file, d in data.items()
    }
    wanted = set(holding)
    while True:
        names = {f.name for f in wanted}
        more = {f for f, inc in included.items() if f not in wanted and inc & names}
        if not more:
            return sorted(wanted)
        wanted |= more


def _speaks_of_kernels(file: Path) -> bool:
    """Whether a file of any size has to be taken for one with kernels."""
    word = b"__global__"
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return False  # a pipe or device is no source, whatever its name
        with file.open("rb") as source:
            tail = b""
            while block := source.read(_BLOCK):
                if word in tail + block:
                    return True
                tail = block[-len(word) :]
    except OSError as problem:  # links to nowhere are left by editors
        return problem.errno not in (errno.ENOENT, errno.ELOOP) and file.suffix.lower() in _CUDA_SUFFIXES
    return False


def _includers(file: Path, below: Sequence[str] = ()) -> list[Path]:
    """Files of the same project that include `file`, directly or through each other; nearest first."""
    own = file.resolve()
    root = _project_root(own)
    if not holds(below, root):
        root = own.parent
    near = [p for p in itertools.islice(_walk(root), _SEARCHED) if p != own and holds(below, p)]
    included = {p: _included(peek(p)) for p in near}
    found: list[Path] = []
    names = {file.name}
    while True:
        more = [p for p, inc in included.items() if p not in found and inc & names]
        if not more:
            return sorted(found, key=lambda p: (len(p.relative_to(root).parts), p))
        found += more
        names |= {p.name for p in more}


def _included(data: bytes) -> set[str]:
    """Names, without their folders, of the files that a text includes."""
    return {Path(name.decode("latin-1")).name for name in _INCLUDE.findall(data)}


def _project_root(file: Path) -> Path:
    """The nearest ancestor folder with a build file, else the file's own folder."""
    for folder in list(file.parents)[:_ANCESTORS]:
        if any((folder / name).exists() for name in _BUILD_FILES):
            return folder
    return file.parent


# ---- compile_commands.json


def _nearby_commands(folder: Path, sink: Sink, below: Sequence[str] = ()) -> dict[str, UnitInput]:
    for place in (folder / "compile_commands.json", folder / "build" / "compile_commands.json"):
        if place.is_file() and holds(below, place):
            return _commands(str(place), sink)
    return {}


def _commands(path: str, sink: Sink) -> dict[str, UnitInput]:
    """Real path → flags of each entry; a file listed twice keeps its first entry."""
    try:
        entries = json.loads(_regular(Path(path)))
        if not isinstance(entries, list):
            raise ValueError("not a list of entries")
        table: dict[str, UnitInput] = {}
        for entry in entries:
            unit = _entry(entry)
            table.setdefault(_real(unit.path), unit)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        sink.report("CP1007", Span(path), path=path, reason=str(problem) or type(problem).__name__)
        return {}
    return table


def _entry(entry: dict[str, object]) -> UnitInput:
    folder = Path(str(entry["directory"]))
    raw = entry.get("arguments")
    words = [str(w) for w in raw] if isinstance(raw, list) else shlex.split(str(entry["command"]))
    includes, defines, std = _flags(words)
    return UnitInput(
        str(folder / str(entry["file"])), tuple(str(folder / i) for i in includes), tuple(defines), std
    )


_VALUED = {  # flag → what it adds; both `-I x` and `-Ix`, and nvcc's long spellings
    "-I": "include",
    "-isystem": "include",
    "--include-path": "include",
    "--system-include": "include",
    "-D": "define",
    "--define-macro": "define",
    "-std": "std",
    "--std": "std",
}


def _flags(words: Sequence[str]) -> tuple[list[str], list[str], str]:
    got: dict[str, list[str]] = {"include": [], "define": [], "std": []}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        for flag, kind in _VALUED.items():
            if word == flag and at < len(words):
                value = words[at]
                at += 1
            elif word.startswith(flag + "="):
                value = word[len(flag) + 1 :]
            elif kind != "std" and len(flag) == 2 and word.startswith(flag):
                value = word[2:]
            else:
                continue
            got[kind] += value.split(",") if kind == "include" and flag.startswith("--") else [value]
            break
    return got["include"], got["define"], (got["std"] or [""])[-1]
