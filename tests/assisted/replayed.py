"""A recorded conversation run again: recorded answers and judgements, no endpoint and no compiler.

    python -m tests.assisted.replayed DIR

writes every accepted port as a target folder DIR/NAME, for `verify` on a machine with a GPU.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from translator.grounding.blocks import corpus_blocks
from translator.grounding.check import Unknown
from translator.llm.budget import Budget
from translator.llm.transcript import Replay
from translator.loop import search as searching
from translator.loop.judged import Judged
from translator.loop.material import Leave, Material, device_text
from translator.loop.purse import Purse
from translator.loop.search import Found, Job, search
from translator.loop.workshop import Bench, Workshop
from translator.task import load_task
from verify.spec_file import load_spec
from verify.verdict import Verdict

FOLDER = Path(__file__).parents[1] / "replay"


def recordings() -> list[Path]:
    return sorted(p.parent for p in FOLDER.glob("*/judged.json"))


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


def replayed(folder: Path, scratch: Path) -> tuple[Found, dict[str, Any]]:
    """What the loop ends with, and what it ended with when it was recorded."""
    held = json.loads((folder / "judged.json").read_text(encoding="utf-8"))

    class Shop(Recorded):
        pass

    Shop.held = held["judged"]
    target = folder / "task"
    spec, ended = load_spec(target), held["ended"]
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
        scratch,
        lambda k, _: Replay(talks[k], strict=False),
        Bench(),
        len(talks),
        (target / spec.port.module).read_text(encoding="utf-8") if ended["mode"] != "port" else "",
    )
    with patch.object(searching, "Workshop", Shop):
        return search(job, Purse(Budget(99, 10**9, 0.0, 600.0))), ended


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.assisted.replayed")
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    for folder in recordings():
        with tempfile.TemporaryDirectory() as scratch:
            found, _ = replayed(folder, Path(scratch))
        if found.best is not None:
            spec = load_spec(folder / "task")
            shutil.copytree(folder / "task", out / folder.name)
            (out / folder.name / spec.port.module).write_text(found.best.source, encoding="utf-8")
            print(out / folder.name)


if __name__ == "__main__":
    main()
