"""A kernel of a run with a model as a replay test: python -m tests.assisted.record RUN NAME… [--as NAME]

Writes tests/replay/<name>/: the task folder, the transcript of each conversation, and what became of each
candidate (`judged.json`), so that the test needs neither an endpoint nor a compiler. Only for sources that
are this project's own.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from translator.batch.run_file import read_run
from translator.grounding.api import load_api
from translator.grounding.check import unknown_names
from translator.loop.judged import Judged
from verify.verdict import Verdict

PLACE = Path(__file__).parents[1] / "replay"
# Where a candidate lay when it was judged is no part of what was found.
_FOLDER = re.compile(r"/[^\s'\"\\(]*/(?=port\.py\b)")
_KEPT = ("spec.toml", "task.json", "original", "reference.py")


def record(run: Path, name: str, to: str) -> Path:
    """Write the replay of one kernel."""
    held = read_run(run)
    [asked] = [a for a in held.run.asked if a.name == name]
    [entry] = [e for e in held.entries if e.kernel == name]
    folder = PLACE / to
    shutil.rmtree(folder, ignore_errors=True)
    for part in _KEPT:
        source = Path(asked.target) / part
        if source.is_dir():
            shutil.copytree(source, folder / "task" / part)
        elif source.is_file():
            (folder / "task").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / "task" / part)
    api = load_api()
    judged: dict[str, dict[str, Any]] = {}
    if asked.mode != "port":  # the verified port that it began with, and what had been found of that
        begun = (Path(asked.target) / "port.py").read_text(encoding="utf-8")
        (folder / "task" / "port.py").write_text(begun, encoding="utf-8")
        seen = Verdict.model_validate_json((Path(asked.target) / "verdict.json").read_text(encoding="utf-8"))
        judged[f"{Judged(begun).digest} "] = {"unknown": [], "verdict": _small(seen)}
    for k, talk in enumerate(sorted((run / name).glob("candidate-*")), 1):
        said = _FOLDER.sub("", (talk / "transcript.jsonl").read_text(encoding="utf-8"))
        (folder / f"transcript-{k}.jsonl").write_text(said, encoding="utf-8")
        for path in sorted(talk.glob("52-candidate-*.py")):
            number = path.stem.rpartition("-")[2]
            text = path.read_text(encoding="utf-8")
            found = talk / f"60-verdict-{number}.json"
            verdict = Verdict.model_validate_json(found.read_text()) if found.is_file() else None
            unknown = [asdict(u) for u in unknown_names(text, api)] if verdict is None and api else []
            key = f"{Judged(text).digest} {_stages(verdict)}"
            judged[key] = {"unknown": unknown, "verdict": _small(verdict) if verdict else None}
    told = {"outcome": entry.outcome, "code": entry.code, "candidates": entry.candidates, "mode": asked.mode}
    written = json.dumps({"ended": told, "judged": judged}, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / "judged.json").write_text(_FOLDER.sub("", written) + "\n", encoding="utf-8")
    return folder


def _stages(verdict: Verdict | None) -> str:
    """What was asked for: `check` compiles only."""
    return "" if verdict is None or verdict.asked is None else ",".join(verdict.asked.stages)


def _small(verdict: Verdict) -> dict[str, Any]:
    """What the loop reads of a verdict, and what its own checks demand."""
    made = verdict.model_dump(mode="json", exclude_none=True)
    for name in ("environment", "hashes", "seal", "algorithm", "created"):
        made.pop(name, None)
    made["target"] = verdict.kernel
    for stage in made["stages"]:
        stage["target"] = verdict.kernel
        facts = stage.get("parity")
        if facts:
            for name in ("counts", "original", "output_bits", "doubts"):
                facts.pop(name, None)
            facts["findings"] = facts.get("findings", [])[:3]
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--as", dest="to")
    given = parser.parse_args()
    for name in given.names:
        print(record(given.run, name, given.to or name))


if __name__ == "__main__":
    main()
