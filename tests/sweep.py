"""How much of a body of CUDA ports: `python -m tests.sweep FOLDER… [--set FILE] [--out DIR]`.

The folders hold the sources; nothing of them is kept. With `--set`, a JSON list of kernels (`repo`, `path`,
`kernel`, `tier`) below the one folder given, only those count and its tiers are used; otherwise all kernels
found count, by the tier that `cuteport analyze` gives them. Prints a row per tier and what stopped the rest.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

DONE = {"COMPILED", "PASSED", "SLOWER", "AMBIGUOUS"}


def run(command: str, *args: str) -> dict[str, Any]:
    """One cuteport command's JSON."""
    line = [sys.executable, "-m", "translator.cli.main", command, "--json", *args]
    result = subprocess.run(line, capture_output=True, text=True, check=False)
    if not result.stdout.strip():
        raise SystemExit(f"{command} printed nothing; stderr: {result.stderr[-2000:]}")
    if "Traceback" in result.stderr:
        print("a traceback was printed:", result.stderr[-2000:], file=sys.stderr)
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def key(entry: dict[str, Any]) -> tuple[str, str, str]:
    return entry["source"], entry["kernel"], entry.get("instantiation") or ""


def wanted_of(path: Path, folder: Path) -> dict[tuple[str, str], int]:
    """(file, kernel) → tier, of a set."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {(str(folder / r["repo"] / r["path"]), r["kernel"]): r["tier"] for r in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--set", type=Path, dest="chosen")
    parser.add_argument("--out", type=Path, default=Path("out/sweep"))
    parser.add_argument("--jobs", default="2")
    options = parser.parse_args()
    tiers: dict[tuple[str, str], int] = {}
    sources = [str(f) for f in options.folders]
    extra: list[str] = []
    if options.chosen:
        tiers = wanted_of(options.chosen, options.folders[0])
        sources = sorted({str(Path(source).parent) for source, _ in tiers})
        extra = [x for name in sorted({k for _, k in tiers}) for x in ("-k", name)]
    ported = run("port", *sources, *extra, "--device", "gpu", "-o", str(options.out), "--jobs", options.jobs)
    known = {
        key(k): k.get("tier", 0) for k in run("analyze", *sources, *extra, "--jobs", options.jobs)["kernels"]
    }
    table: dict[int, Counter[str]] = defaultdict(Counter)
    why: Counter[str] = Counter()
    rest: list[str] = []
    for k in ported["kernels"]:
        if tiers and (k["source"], k["kernel"]) not in tiers:
            continue
        tier = tiers.get((k["source"], k["kernel"]), known.get(key(k), 0) or 0)
        table[tier][k["status"]] += 1
        if k["status"] not in DONE:
            codes = sorted({d["code"] for d in k["diagnostics"] if d["severity"] == "error"})
            why[f"{k['status']} {' '.join(codes)}"] += 1
            first = next((d["message"] for d in k["diagnostics"] if d["severity"] == "error"), "")
            rest.append(
                f"{k['status']:14} tier {tier} {k['source']}: {k['kernel']}: {' '.join(codes)} {first[:160]}"
            )
    print("tier  kernels  compiled  share")
    for tier in sorted(table):
        total = sum(table[tier].values())
        done = sum(n for status, n in table[tier].items() if status in DONE)
        print(f"{tier or '-':>4}  {total:7}  {done:8}  {done / total:6.1%}")
    print()
    for reason, n in why.most_common():
        print(f"{n:5} {reason}")
    (options.out.parent / "sweep-rest.txt").write_text("\n".join(rest) + "\n", encoding="utf-8")
    print(f"the rest, one line each: {options.out.parent / 'sweep-rest.txt'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
