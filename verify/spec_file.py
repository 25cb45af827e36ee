"""Reading `spec.toml`: every problem with its line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from verify.expr import ExprError
from verify.spec import Spec


class SpecError(Exception):
    """spec.toml can't be used. `problems` are lines ready to print: `path:line: what`."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load_spec(target: Path) -> Spec:
    """Read `target/spec.toml`. SpecError lists every problem with its line."""
    path = target / "spec.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpecError([f"{path}: no such file"]) from None
    except (OSError, UnicodeDecodeError) as e:
        raise SpecError([f"{path}: can't be read: {e}"]) from e
    return parse_spec(text, str(path))


def parse_spec(text: str, path: str = "spec.toml") -> Spec:
    """A Spec from TOML text. SpecError lists every problem with its line."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        m = re.search(r"at line (\d+)", str(e))
        raise SpecError([f"{path}:{m.group(1) if m else 1}: not valid TOML: {e}"]) from e
    try:
        return Spec.model_validate(data)
    except ValidationError as e:
        lines = _line_index(text)
        problems = []
        for err in e.errors():
            loc = [p for p in err["loc"] if p not in ("scalar", "buffer", "struct") or p in data]
            what = err["msg"].removeprefix("Value error, ")
            where = ".".join(str(p) for p in loc)
            problems.append(
                f"{path}:{_line_of(lines, loc)}: {where}: {what}" if where else f"{path}:1: {what}"
            )
        raise SpecError(list(dict.fromkeys(problems))) from e
    except ExprError as e:
        raise SpecError([f"{path}:1: {e}"]) from e


def _line_index(text: str) -> dict[tuple[Any, ...], int]:
    """(table, index, key …) → 1-based line, for headers and for keys at a line's start."""
    found: dict[tuple[Any, ...], int] = {}
    counts: dict[str, int] = {}
    at: tuple[Any, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if m := re.match(r"\s*\[\[\s*([\w.-]+)\s*\]\]", line):
            name = m.group(1)
            at = (name, counts.get(name, 0))
            counts[name] = counts.get(name, 0) + 1
            found[at] = number
        elif m := re.match(r"\s*\[\s*([\w.-]+)\s*\]", line):
            at = tuple(m.group(1).split("."))
            found[at] = number
        elif m := re.match(r"\s*([\w-]+)\s*[.=]", line):
            found.setdefault((*at, m.group(1)), number)
    return found


def _line_of(lines: dict[tuple[Any, ...], int], loc: list[Any]) -> int:
    for end in range(len(loc), 0, -1):
        if (line := lines.get(tuple(loc[:end]))) is not None:
            return line
    return 1
