"""Conversations with a model, replayed: recorded answers and judgements, no endpoint and no compiler.

What is held: tools and answers are read as they were, every candidate is the same text, and the loop ends as
it ended. Prompts may say more by now than was recorded; the answers stay.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from translator.grounding.blocks import corpus_blocks
from translator.grounding.check import Unknown
from translator.llm.budget import Budget
from translator.llm.transcript import Replay
from translator.loop import search as searching
from translator.loop.judged import Judged
from translator.loop.material import Leave, Material, device_text
from translator.loop.purse import Purse
from translator.loop.search import Job, search
from translator.loop.workshop import Bench, Workshop
from translator.task import load_task
from verify.spec_file import load_spec
from verify.verdict import Verdict

RECORDED = sorted(p.parent for p in Path(__file__).parent.glob("*/judged.json"))


class Recorded(Workshop):
    """Judges by what is written down; a text that is not there is another than was recorded."""

    held: dict[str, dict[str, Any]]

    def _judged(self, source: str, stages: Any) -> Judged:
        key = Judged(source).digest
        row = self.held.get(f"{key} {','.join(stages)}") or self.held.get(f"{key} ")
        assert row is not None, f"a candidate that was not recorded:\n{source}"
        unknown = tuple(Unknown(**{**u, "nearest": tuple(u["nearest"])}) for u in row["unknown"])
        verdict = Verdict.model_validate(row["verdict"]) if row["verdict"] else None
        return Judged(source, unknown, verdict)


def test_there_are_recordings() -> None:
    assert len(RECORDED) >= 12


@pytest.mark.parametrize("folder", RECORDED, ids=lambda p: p.name)
def test_it_ends_as_it_ended(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = json.loads((folder / "judged.json").read_text(encoding="utf-8"))

    class Shop(Recorded):
        pass

    Shop.held = held["judged"]
    monkeypatch.setattr(searching, "Workshop", Shop)
    target = folder / "task"
    spec = load_spec(target)
    ended = held["ended"]
    material = Material(
        spec,
        device_text(target, spec),
        "sm_90a",
        None,
        corpus_blocks(),
        [],
        (),
        load_task(target) if ended["mode"] == "port" else None,
        leave=Leave(draft=True),
    )
    talks = sorted(folder.glob("transcript-*.jsonl"))
    job = Job(
        target,
        spec.port.module,
        ended["mode"],
        material,
        tmp_path,
        lambda k, _: Replay(talks[k], strict=False),
        Bench(),
        len(talks),
        (target / spec.port.module).read_text(encoding="utf-8") if ended["mode"] != "port" else "",
    )
    found = search(job, Purse(Budget(99, 10**9, 0.0, 600.0)))
    assert ("PASSED" if found.best is not None else "REFUSED") == ended["outcome"]
    assert found.candidates == ended["candidates"]
