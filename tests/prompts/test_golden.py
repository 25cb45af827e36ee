"""Prompts are the files in `golden/`, byte for byte, and a change of what a model is told has a new version.

`pytest tests/prompts --update-golden` writes the files anew, to be reviewed as a diff.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib.resources import files
from pathlib import Path

import pytest

from tests.prompts.sample_briefs import BARE, BRIEFS, FEEDBACK
from translator.prompts.render import VERSION, brief_marker, feedback, opening

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = GOLDEN / "versions.json"


def made() -> dict[str, str]:
    """File name → text."""
    found = {}
    for name, brief in BRIEFS.items():
        system, user = opening(brief)
        found[f"{name}.md"] = f"<!-- system -->\n{system}\n<!-- user -->\n{user}"
    marker = brief_marker(BARE)
    parts = [feedback([item], marker, tools=bool(k % 2)) for k, item in enumerate(FEEDBACK)]
    parts.append(feedback(FEEDBACK[:2], marker, turns_left=3))
    found["feedback.md"] = "\n<!-- next -->\n".join(parts)
    return found


def fingerprint() -> str:
    """sha256 of all that is told: the templates and the table of pitfalls."""
    root = Path(str(files("translator.prompts")))
    told = [*sorted(root.rglob("*.j2")), root / "pitfalls.toml"]
    held = hashlib.sha256()
    for path in told:
        held.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return held.hexdigest()


def test_prompts_are_the_expected_texts(request: pytest.FixtureRequest) -> None:
    found = made()
    if request.config.getoption("--update-golden"):
        if os.environ.get("CI"):
            pytest.fail("--update-golden is for people: in CI nobody would review what it writes")
        for old in GOLDEN.glob("*.md"):
            old.unlink()
        for name, text in found.items():
            (GOLDEN / name).write_text(text, encoding="utf-8")
        return
    assert found == {p.name: p.read_text(encoding="utf-8") for p in GOLDEN.glob("*.md")}


def test_a_change_of_what_is_told_has_a_new_version(request: pytest.FixtureRequest) -> None:
    """A version that is recorded stays what it was: `--update-golden` records new ones only."""
    recorded: dict[str, str] = json.loads(VERSIONS.read_text(encoding="utf-8"))
    if str(VERSION) not in recorded and request.config.getoption("--update-golden"):
        assert max(map(int, recorded), default=0) + 1 == VERSION
        recorded[str(VERSION)] = fingerprint()
        VERSIONS.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    assert recorded.get(str(VERSION)) == fingerprint(), (
        "templates or pitfalls changed: raise VERSION in translator/prompts/render.py, then --update-golden"
    )
