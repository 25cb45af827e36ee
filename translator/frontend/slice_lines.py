"""Where the text of a slice comes from: `#line` directives, so that messages name the author's file."""

from __future__ import annotations

import os
import re
from pathlib import Path

DROPPED = "\0"
"""Stands in a slice's text for a line break that is left out of it; no source has it."""
_BLANK = 3  # lines left out that stay as empty ones; a directive stands for more


def plain(text: str) -> str:
    """Without the marks."""
    return text.replace(DROPPED, "")


def with_lines(text: str, line: int, name: str) -> str:
    """Text that begins at `line` of file `name`, so that a compiler counts as that file does."""
    made = [_directive(line, name)]
    missing = 0
    for row in text.split("\n"):
        before = len(row) - len(row.lstrip(DROPPED))
        line, missing = line + before, missing + before
        if missing:
            made += [""] * missing if missing <= _BLANK else [_directive(line, name)]
        made.append(plain(row))
        missing = row.count(DROPPED) - before
        line += 1 + missing
    return "\n".join(made)


def name_of(file: str, own: str) -> str:
    """What a slice calls a file of the author's, whose kernel is in `own`: its path from there, which is the
    same wherever the sources are."""
    found = Path(os.path.relpath(file, Path(own).parent))
    return author_name(own) if found == Path(Path(own).name) else found.as_posix()


def source_names(text: str) -> list[str]:
    """The names that a slice's directives give the author's files."""
    found = re.findall(r'^#line \d+ "((?:[^"\\]|\\.)*)"$', text, re.M)
    return [re.sub(r"\\(.)", r"\1", n) for n in dict.fromkeys(found)]


def author_name(path: str) -> str:
    """What the author's file is called beside its slice, which has a name of its own."""
    name = Path(path).name
    return name if name.casefold() != "device.cu" else "author_device.cu"


def _directive(line: int, name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line {line} "{escaped}"'
