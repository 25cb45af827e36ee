"""The skill folder for agents: written out by `cuteport mcp --skill DIR`, its files also resources of the
server, its workflow also the prompt."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from translator.mcp.roots import RefusedError
from translator.output import write_file

_WORKFLOW = "## Workflow"


def _folder() -> Traversable:
    return files("translator.mcp").joinpath("skill", "cuteport")


def texts() -> dict[str, str]:
    """The files of the skill: name → text."""
    found = {f.name: f.read_text(encoding="utf-8") for f in _folder().iterdir() if f.name.endswith(".md")}
    return dict(sorted(found.items()))


def addressed(address: str) -> dict[str, str]:
    """The same for one who has no such folder: links between the files lead to `address` and the name."""
    found = texts()
    return {
        name: re.sub(r"\]\(([\w.-]+)\)", lambda m: f"]({address}{m[1]})" if m[1] in found else m[0], text)
        for name, text in found.items()
    }


def workflow(address: str) -> str:
    """The part of SKILL.md that says what to do in which order; what it refers to lies at `address`."""
    return addressed(address)["SKILL.md"].split(_WORKFLOW, 1)[1].split("\n## ", 1)[0].strip()


def write(into: Path) -> Path:
    """Write the skill to `into/cuteport`; the folder. RefusedError CP5512 where others are in the way, CP0002
    where it can't be written."""
    place = into / "cuteport"
    try:
        for name, text in texts().items():
            if (place / name).exists() and (place / name).read_text("utf-8", "replace") != text:
                raise RefusedError("CP5512", "refused", path=str(place / name))
        for name, text in texts().items():
            write_file(place / name, text)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise RefusedError("CP0002", "environment", path=str(place), reason=reason) from None
    return place
