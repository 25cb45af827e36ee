"""What a unit includes, looked at before the compiler opens it: a pipe or device may have no end.

Only regular files are read, as the preprocessor would find them: an `#include` may lead anywhere that its
reader may read, or only below given folders. Conditions are not evaluated: an include that is switched off is
looked at too.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from translator.diag.diagnostic import Sink, Span
from translator.frontend.fence import holds, written_inside

MOST = 16_000_000  # bytes of one source; generated ones of 2 MB are read in seconds
_FILES = 2000  # looked at for one unit; what is beyond is the compiler's to refuse
_INCLUDE = re.compile(
    rb"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|include_next|import)\b[ \t]*([^\r\n]+)", re.MULTILINE
)
_DEFINE = re.compile(rb"^[ \t]*(?:#|%:|\?\?=)[ \t]*define[ \t]+(\w+)[ \t]+([\"<][^\r\n]+)", re.MULTILINE)
_ASKED = re.compile(rb"\b__has_(?:include|include_next|embed)[ \t]*\([ \t]*([\"<][^\r\n]+)")
_NAME = re.compile(rb'"([^"\r\n]+)"|<([^>\r\n]+)>')
_SPLICED = re.compile(rb"\\[ \t]*\r?\n")
_COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)


def size_of(path: Path) -> int:
    """Bytes of a file, 0 where it can't be looked at."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def megabytes(n: int) -> str:
    """As in 50 MB (decimal)."""
    return f"{n / 1e6:.0f} MB"


def readable(
    path: str,
    data: bytes,
    folders: Sequence[str],
    defines: Sequence[str],
    sink: Sink,
    below: Sequence[str] = (),
) -> bool:
    """False after a diagnostic where the unit in `path`, whose text is `data`, includes what can't be read
    as a source, or what does not lie `below` folders that are given. `folders` are searched after each file's
    own; `defines` are `NAME=VALUE`."""
    macros = {n: v for n, _, v in (d.encode().partition(b"=") for d in defines)}
    waiting: list[tuple[str, bytes]] = [(path, data)]
    seen: set[Path] = set()
    while waiting and len(seen) < _FILES:
        own, text = waiting.pop()
        for name in _names(text, macros):
            if not written_inside(below, Path(own).parent, name, folders):
                sink.report("CP5503", Span(own), path=own, name=name)
                return False
            found = _find(Path(own).parent, name, folders)
            if found is None or found in seen:
                continue
            seen.add(found)
            if not holds(below, found):
                sink.report("CP5503", Span(own), path=own, name=name)
                return False
            if not stat.S_ISREG(found.stat().st_mode):
                sink.report("CP1018", Span(own), path=own, name=name)
                return False
            if (size := found.stat().st_size) > MOST:
                sink.report("CP1017", Span(own), path=str(found), size=megabytes(size), most=megabytes(MOST))
                return False
            try:
                waiting.append((str(found), found.read_bytes()))
            except OSError:  # the compiler says so
                continue
    return True


def _names(text: bytes, macros: dict[bytes, bytes]) -> Iterator[str]:
    """The names that a text includes, whatever comments and conditions say; macros that stand for a name are
    learned on the way."""
    spliced = _SPLICED.sub(b"", text)
    for version in (spliced, _COMMENT.sub(b" ", spliced)):
        macros.update(_DEFINE.findall(version))
        for said in _INCLUDE.findall(version):
            word = re.match(rb"\w+", said)
            given = _NAME.match(macros.get(word.group(), b"").strip() if word else said)
            if given is not None:
                yield (given.group(1) or given.group(2)).decode("utf-8", "surrogateescape")
        for said in _ASKED.findall(version):  # what is only asked for is looked for all the same
            if (given := _NAME.match(said)) is not None:
                yield (given.group(1) or given.group(2)).decode("utf-8", "surrogateescape")


def _find(own: Path, name: str, folders: Sequence[str]) -> Path | None:
    """The file that a name leads to; a folder is passed by, as compilers do. None: there is none."""
    for folder in (own, *map(Path, folders)):
        try:
            place = (folder / name).resolve()
            if place.exists() and not place.is_dir():
                return place
        except (OSError, ValueError, RuntimeError):  # a name that no system takes, links in a circle
            continue
    return None
