"""The table in targets/README.md, from the baselines: `python -m tests.targets_table` writes it anew."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from pathlib import Path
from typing import Any

TARGETS = Path(__file__).parent.parent / "targets"
README = TARGETS / "README.md"
START, END = "<!-- table: from baselines/h200.json -->\n", "<!-- end of table -->\n"
CODE_START, CODE_END = "<!-- machine code: from baselines/h200.json -->\n", "<!-- end of machine code -->\n"


def baselines(device: str = "h200") -> dict[str, dict[str, Any]]:
    """Target folder name → its recorded baseline."""
    return {
        f.parent.parent.name: json.loads(f.read_text(encoding="utf-8"))
        for f in sorted(TARGETS.glob(f"*/baselines/{device}.json"))
    }


def sizes_of(target: str, case: str) -> str:
    spec = tomllib.loads((TARGETS / target / "spec.toml").read_text(encoding="utf-8"))
    sizes = next(c["sizes"] for c in spec["case"] if c["name"] == case)
    return ", ".join(f"{k}={v}" for k, v in sizes.items())


def table() -> str:
    """Markdown: one row per target, then the geometric mean. What older baselines do not hold has no
    column."""
    found = baselines()
    whole = bool(found) and all(b["bench"].get("floor") and b["bench"].get("also") for b in found.values())
    more = " of the floor | typical case: original / port |" if whole else ""
    rows = [
        f"| target | sizes | original µs | port µs | original / port |{more}",
        "| --- | --- | ---: | ---: | ---: |" + " ---: | ---: |" * whole,
    ]
    ratios = []
    for name, one in found.items():
        bench = one["bench"]
        ratios.append(bench["ratio"])
        original, port = bench["original"]["median_us"], bench["port"]["median_us"]
        sizes = sizes_of(name, bench["case"])
        short = name.removeprefix("cuteport__")
        ratio = f"{bench['ratio']:.3f} ({bench['ratio_low']:.3f} to {bench['ratio_high']:.3f})"
        row = f"| {short} | {sizes} | {original:.1f} | {port:.1f} | {ratio} |"
        if whole:
            (typical,) = bench["also"]
            row += f" {bench['floor']['port_share']:.0%} | {typical['ratio']:.3f} |"
        rows.append(row)
    mean = math.exp(sum(math.log(r) for r in ratios) / len(ratios)) if ratios else 0.0
    rows.append(f"| **geometric mean of {len(ratios)}** | | | | **{mean:.3f}** |" + " | |" * whole)
    return "\n".join(rows) + "\n"


def machine_code() -> str:
    """Markdown: how each side's machine code compares with its own PTX in the emulator."""
    rows = ["| target | original | port |", "| --- | --- | --- |"]
    for name, found in baselines().items():
        told = {d["side"]: d for d in found.get("machine_code", [])}
        cells = [_agreement(told.get(side)) for side in ("original", "port")]
        rows.append(f"| {name.removeprefix('cuteport__')} | {cells[0]} | {cells[1]} |")
    return "\n".join(rows) + "\n"


def _agreement(doubt: dict[str, Any] | None) -> str:
    if doubt is None:
        return "not compared"
    if message := doubt.get("message"):
        return str(message)
    if doubt.get("equal", 0) == doubt["runs"]:
        return f"equal bits in {doubt['runs']} runs"
    left = ", ".join(f"`{op}`" for op in doubt.get("left_open", [])) or "the order of atomics"
    equal = f"{doubt['equal']} with equal bits; " if doubt.get("equal") else ""
    return f"within the tolerance in {doubt['runs']} runs; {equal}left open: {left}"


def written() -> str:
    """targets/README.md with the table of today."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    middle, _, rest = rest.partition(END)[2].partition(CODE_START)
    _, _, after = rest.partition(CODE_END)
    return before + START + table() + END + middle + CODE_START + machine_code() + CODE_END + after


if __name__ == "__main__":
    README.write_text(written(), encoding="utf-8")
    sys.stdout.write(table())
