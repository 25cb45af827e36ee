"""Reading `spec.toml`: every problem with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from verify.expr import ExprError
from verify.files import read_text
from verify.spec import Spec


class SpecError(Exception):
    """spec.toml can't be used. `problems` are lines ready to print: `path:line: what`."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Lines:
    """Line numbers of a spec's text by place: keys and indices from the top."""

    def __init__(self, text: str) -> None:
        self._found: dict[tuple[Any, ...], int] = {}
        counts: dict[str, int] = {}
        at: tuple[Any, ...] = ()
        for number, line in enumerate(text.splitlines(), 1):
            if m := re.match(r"\s*\[\[\s*([\w.-]+)\s*\]\]", line):
                name = m.group(1)
                at = (name, counts.get(name, 0))
                counts[name] = counts.get(name, 0) + 1
                self._found[at] = number
            elif m := re.match(r"\s*\[\s*([\w.-]+)\s*\]", line):
                at = tuple(m.group(1).split("."))
                self._found[at] = number
            elif m := re.match(r"\s*([\w-]+)\s*[.=]", line):
                self._found.setdefault((*at, m.group(1)), number)

    def of(self, loc: Sequence[Any]) -> int:
        """The line of a place, or of what it lies in; 1-based."""
        for end in range(len(loc), 0, -1):
            if (line := self._found.get(tuple(loc[:end]))) is not None:
                return line
        return 1


def load_spec(target: Path) -> Spec:
    """Read `target/spec.toml`. SpecError lists every problem with its line."""
    path = target / "spec.toml"
    return parse_spec(text_of(path), str(path))


def text_of(path: Path) -> str:
    """The text of a spec. SpecError where it can't be read."""
    try:
        return read_text(path)
    except FileNotFoundError:
        raise SpecError([f"{path}: no such file"]) from None
    except (OSError, UnicodeDecodeError) as e:
        raise SpecError([f"{path}: can't be read: {e}"]) from e


def parse_spec(text: str, path: str = "spec.toml") -> Spec:
    """A Spec from TOML text. SpecError lists every problem with its line."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        m = re.search(r"at line (\d+)", str(e))
        raise SpecError([f"{path}:{m.group(1) if m else 1}: not valid TOML: {e}"]) from e
    except RecursionError:
        raise SpecError([f"{path}:1: nested too deeply"]) from None
    except ValueError as e:  # a number of more digits than Python reads
        raise SpecError([f"{path}:1: not valid TOML: {e}"]) from e
    try:
        return Spec.model_validate(data)
    except ValidationError as e:
        lines = Lines(text)
        problems = []
        for err in e.errors():
            loc = [p for p in err["loc"] if p not in ("scalar", "buffer", "struct") or p in data]
            what = err["msg"].removeprefix("Value error, ")
            where = ".".join(str(p) for p in loc)
            problems.append(f"{path}:{lines.of(loc)}: {where}: {what}" if where else f"{path}:1: {what}")
        raise SpecError(list(dict.fromkeys(problems))) from e
    except ExprError as e:
        raise SpecError([f"{path}:1: {e}"]) from e
