"""The table of mutants in targets/README.md: `python -m tests.mutation_table` writes it from mutation.json.

`record DIR` writes that file first, from what `verify DIR --mutate` left in a copy of the targets. Why
survivors give the port's own results, or that they are missed, is in targets/survivors.toml, by hand.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.targets_table import README, TARGETS

RECORD, REASONS = TARGETS / "mutation.json", TARGETS / "survivors.toml"
START, END = "<!-- mutants: from mutation.json -->\n", "<!-- end of mutants -->\n"
_KEPT = ("id", "line", "what")


def recorded(folder: Path) -> dict[str, Any]:
    """What the verdicts in a folder of targets say of mutants. ValueError where none does."""
    targets: dict[str, Any] = {}
    versions: dict[str, Any] = {}
    dates: set[str] = set()
    for path in sorted(folder.glob("*/verdict.json")):
        verdict = json.loads(path.read_text(encoding="utf-8"))
        parity = next(s for s in verdict["stages"] if s["stage"] == "parity").get("parity") or {}
        if (found := parity.get("mutation")) is None:
            continue
        dates.add(verdict["created"][:10])
        versions = verdict["environment"]["versions"]
        every = found["mutants"]
        targets[path.parent.name.removeprefix("cuteport__")] = {
            **{k: found[k] for k in ("available", "killed", "equivalent", "invalid", "unjudged", "codes")},
            "tried": len(every),
            "survivors": [{k: m[k] for k in _KEPT} for m in every if m["fate"] == "survived"],
            "port": verdict["hashes"]["port"],
        }
    if not targets:
        raise ValueError(f"no verdict in {folder} has mutants")
    return {"recorded": max(dates), "versions": versions, "targets": targets}


def reasons() -> dict[str, dict[str, str]]:
    """Target → survivor's id → "same: why" or "missed: why"."""
    found: dict[str, dict[str, str]] = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return found


def table(record: dict[str, Any], why: dict[str, dict[str, str]]) -> str:
    """Markdown: one row per target, then all of them."""
    columns = ("mutants", "tried", "killed", "same code", "no port", "same results", "missed")
    rows = [f"| target | {' | '.join(columns)} | score |", f"| --- |{' ---: |' * (len(columns) + 1)}"]
    totals = [0] * len(columns)
    for name, t in record["targets"].items():
        missed = sum(why[name][s["id"]].startswith("missed:") for s in t["survivors"])
        same = len(t["survivors"]) - missed
        unused = t["invalid"] + t["unjudged"]
        row = [t["available"], t["tried"], t["killed"], t["equivalent"], unused, same, missed]
        totals = [a + b for a, b in zip(totals, row, strict=True)]
        rows.append(_row(name, row))
    return "\n".join([*rows, _row(f"**all {len(record['targets'])}**", totals)]) + "\n"


def share(counts: list[int]) -> float:
    """Killed, of those that change what the port does."""
    killed, missed = counts[2], counts[-1]
    return killed / (killed + missed) if killed + missed else 1.0


def _row(name: str, counts: list[int]) -> str:
    return f"| {name} | {' | '.join(map(str, counts))} | {share(counts):.3f} |"


def written() -> str:
    """targets/README.md with the table of today."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return before + START + table(record, reasons()) + END + after


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        RECORD.write_text(json.dumps(recorded(Path(sys.argv[2])), indent=1) + "\n", encoding="utf-8")
    README.write_text(written(), encoding="utf-8")
    sys.stdout.write(table(json.loads(RECORD.read_text(encoding="utf-8")), reasons()))
