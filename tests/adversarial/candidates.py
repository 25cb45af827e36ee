"""Candidates of rows.toml and unusual.toml as target folders, and what is expected of them."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent
_FILES = {"port": "port.py", "spec": "spec.toml", "device": "original/device.cu"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """`row` is 0 for a right port. `static` is a code or "", `emulator` and `gpu` are "STATUS CODE" or "";
    `open` says where and why it is not stopped yet."""

    row: int
    name: str
    base: str
    edits: dict[str, list[list[str]]]
    static: str = ""
    emulator: str = ""
    gpu: str = ""
    open: str = ""

    def write(self, folder: Path) -> Path:
        """The target folder. Each edit must find its text, or the candidate is not what it says."""
        target = folder / self.name
        shutil.copytree(HOME / "bases" / self.base, target)
        for part, edits in self.edits.items():
            path = target / _FILES[part]
            text = path.read_text(encoding="utf-8")
            for old, new in edits:
                assert old in text, f"{self.name}: {path.name} has no {old!r}"
                text = text.replace(old, new)
            path.write_text(text, encoding="utf-8")
        return target


def _read(data: dict[str, Any]) -> Candidate:
    given = dict(data)
    edits = {part: given.pop(part) for part in _FILES if part in given}
    return Candidate(row=given.pop("row", 0), base=given.pop("base", "axpy"), edits=edits, **given)


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads((HOME / name).read_text(encoding="utf-8"))


WAYS: dict[int, dict[str, Any]] = {w["row"]: w for w in _load("rows.toml")["way"]}
CHEATS = [_read(c) for c in _load("rows.toml")["candidate"]]
RIGHT = [_read(p) for p in _load("unusual.toml")["port"]]


def table() -> str:
    """The table of README.md."""
    lines = ["| # | way | candidate | stopped by reading | with that set aside, in the emulator | on a GPU |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for c in CHEATS:
        where = c.open.partition(":")[0]
        cells = [str(c.row), WAYS[c.row]["what"], f"`{c.name}`", c.static]
        cells += [
            f"open: {v}" if v and where == k else v for k, v in (("emulator", c.emulator), ("gpu", c.gpu))
        ]
        lines.append("| " + " | ".join(v or "–" for v in cells) + " |")
    return "\n".join(lines)
