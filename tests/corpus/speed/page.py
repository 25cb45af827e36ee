"""docs/corpus_speed.md and its plot from recorded times: `python -m tests.corpus.speed.page [FILE…]`.

FILE is what `python3 -m tests.corpus.speed --out FILE` wrote on a GPU; its rows are kept beside the page, in
place of those that were kept before, whole. Without FILE the page is made anew from what is kept.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import Counter
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from corpus.catalog import Item, load

DOCS = Path(__file__).resolve().parents[3] / "docs"
KEPT, PAGE, PLOT = (DOCS / f"corpus_speed.{end}" for end in ("json", "md", "svg"))
OURS, LEAST = "ours", ("copy", "nearly empty")
NEAR, SMALL = 0.9, 1.3
BAR, LINE, LABEL, AXIS = 520, 18, 300, 110  # pixels; the axis ends at 110 % of the copy

Row = dict[str, Any]


def others(row: Row) -> list[str]:
    return [name for name in row["us"] if name not in (OURS, *LEAST)]


# Rows that are not called by the entry that they time.
TIMED = {"mxfp8": "mx_quantize", "mxfp4": "mx_quantize", "nvfp4": "nvfp4_quantize", "switch": "dispatch"}

TEXT = """\
# How fast the corpus is

{date}, {device}, CUDA {cuda}, torch {torch}, nvidia-cutlass-dsl {dsl}: medians of 25 rounds of
`python3 -m tests.corpus.speed --no-compile --out FILE`, and of a second run with `--compiled` for the rows
that have torch.compile beside them; both in a clone, where torch and the DSL can be imported, on a GPU. A
row's jobs run in turns in one process (`tests/corpus/speed/timing.py` says how); rows compare with themselves
only. This page is made from such files: `python3 -m tests.corpus.speed.page FILE …` keeps their rows in
`docs/corpus_speed.json`. A later file's rows take the place of earlier ones, whole: what changed is timed
again by itself, on the same device with the same versions.

{summary}

{twins}

## How to read the tables

A row is an entry and a shape: `16384x(32+8)x128/64` are 16,384 tokens of 32 + 8 heads of 128, 64 of which
rotate; `4096x8 of 7168, 1 in 8` are 4,096 tokens, 8 choices each, rows of 7,168, one of eight on this GPU.
`mxfp8`, `mxfp4` and `nvfp4` time mx_quantize and nvfp4_quantize, `switch` times dispatch around the sizes
where it goes from one launch to two. Beside an entry's time stand:

- `torch`, `torch.compile`: torch's operator, or a composition of some where it has none; the same compiled.
- `corpus rms_norm`, `two launches`: what other entries do in its place.
- `plan …`, `each …`, `share …`, `(…)`, `128x4`, `132 blocks`, `blocks, ids …`: the entry with another launch
  plan than the one that it chose (the entry's docstring says what the numbers are); `exact`, `packed`,
  `fast`, `not renormalised`, `barrier`, `fused`, `copy …`: with another way or plan of one part.

## Large shapes

Behind a cold L2. *Of copy*: the time of torch's copy of as many bytes over the entry's. *Beside it*: the time
of others over the entry's; above 1 the entry is faster.

The fill that empties the cache leaves lines in it that are still to be written back. A copy leaves as many
behind as it displaces; what only reads pays for them (tensor_scale, array_sum, argmax, …). Behind lines that
were only read, tensor_scale of 29 MB takes 10.6 µs in place of 13.8, 0.93 of a copy there, and of 235 MB
55.3 µs in place of 64.1, 1.00 of it (2026-12-01, the device and versions above, `python3 -m
tests.corpus.speed quantize --only tensor_scale --no-compile --clean`).

![share of the copy's rate]({plot})

| entry and shape | µs | GB/s | of copy | beside it |
| --- | ---: | ---: | ---: | --- |
{large}

## Decode shapes

From launch to end of one launch; and in a graph of 64 launches, where the start of one overlaps the end of
another. *Of empty*: over the time of a kernel that writes one number.

| entry and shape | µs | of empty | in a graph, µs | of empty | beside it |
| --- | ---: | ---: | ---: | ---: | --- |
{decode}
"""


def page(document: dict[str, Any]) -> str:
    rows: list[Row] = document["rows"]
    large = "\n".join(_large(r) for r in rows if not r["decode"])
    decode = "\n".join(_decode(r) for r in rows if r["decode"])
    told = {"plot": PLOT.name, "large": large, "decode": decode, "summary": summary(rows)}
    items = load()[0]
    told["twins"] = f"{twins(items)}\n\n{untimed(rows, items)}"
    return TEXT.format(**document | told)


def summary(rows: list[Row]) -> str:
    """What falls short: under NEAR of the copy, over SMALL empty kernels, slower than torch."""
    large, decode = [r for r in rows if not r["decode"]], [r for r in rows if r["decode"]]
    near = [r for r in large if r["us"]["copy"] >= NEAR * r["us"][OURS]]
    small = [r for r in decode if r["us"][OURS] <= SMALL * r["us"]["nearly empty"]]
    lines = [
        f"{len(near)} of {len(large)} large rows reach {NEAR:.2f} of the copy, {len(small)} of {len(decode)} "
        f"decode rows end within {SMALL:.1f} times an empty kernel.",
        "",
        f"- Under {NEAR:.2f}, by entry: {_by_entry(large, near)}.",
        f"- Over {SMALL:.1f}, by entry: {_by_entry(decode, small)}.",
    ]
    for name in ("torch", "torch.compile", "two launches"):
        beside = [r for r in rows if name in r["us"]]
        slower = [
            f"{r['what']} ({r['us'][name] / r['us'][OURS]:.2f})"
            for r in beside
            if r["us"][name] < r["us"][OURS]
        ]
        lines.append(
            f"- Slower than {name} in {len(slower)} of {len(beside)} rows: {', '.join(slower) or 'none'}."
        )
    return "\n".join(lines)


def untimed(rows: list[Row], items: list[Item]) -> str:
    """Entries that no row times."""
    first = {r["what"].split()[0] for r in rows}
    missing = sorted({i.entry.id for i in items} - {TIMED.get(name, name) for name in first})
    return f"Not timed here: {', '.join(missing)}." if missing else "Every entry has rows."


def twins(items: list[Item]) -> str:
    """Entries beside their CUDA twins, from the proofs that hold: a table, and what it comes to."""
    found = [(i.entry.id, p.ratio, f"{p.device}, {p.date}") for i in items for p in i.proofs() if p.ratio]
    if not found:
        return "Against their CUDA twins the entries have not been timed."
    ratios = [ratio for _, ratio, _ in found]
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    where = "; ".join(sorted({told for *_, told in found}))
    lines = [
        f"Against their CUDA twins {len(found)} of {len(items)} entries are timed ({where}; `cuteport corpus "
        "check`, the least of all timed cases and variants). In the geometric mean they have "
        f"{mean:.2f} times the twin's speed, {min(ratios):.2f} at least. The twins are plain CUDA, as a "
        "legacy code base has it.",
        "",
        "| entry | times the twin's speed, at least |",
        "| --- | ---: |",
    ]
    return "\n".join(lines + [f"| {name} | {ratio:.2f} |" for name, ratio, _ in sorted(found)])


def _by_entry(rows: list[Row], reached: list[Row]) -> str:
    counts = Counter(r["what"].split()[0] for r in rows)
    short = Counter(r["what"].split()[0] for r in rows if r not in reached)
    return ", ".join(f"{name} {n} of {counts[name]}" for name, n in short.items()) or "none"


def _beside(row: Row) -> str:
    own = row["us"][OURS]
    return ", ".join(f"{name} {row['us'][name] / own:.2f}×" for name in others(row))


def _large(row: Row) -> str:
    us = row["us"]
    rate = row["bytes"] / us[OURS] / 1e3
    return f"| {row['what']} | {us[OURS]:.1f} | {rate:.0f} | {us['copy'] / us[OURS]:.2f} | {_beside(row)} |"


def _decode(row: Row) -> str:
    us, graph = row["us"], row["graph_us"]
    alone, within = (t[OURS] / t["nearly empty"] for t in (us, graph))
    cells = (row["what"], *(f"{n:.2f}" for n in (us[OURS], alone, graph[OURS], within)), _beside(row))
    return f"| {' | '.join(cells)} |"


def plot(document: dict[str, Any]) -> str:
    """A bar for each large shape, as long as its share of the copy's rate; a mark where torch is."""
    rows = [r for r in document["rows"] if not r["decode"]]
    height, step = LINE * (len(rows) + 2), BAR / AXIS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABEL + BAR + 20}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        "<style>text{fill:#333}.grid{stroke:#bbb}.bar{fill:#4a7fb5}.mark{fill:#d9822b}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#555}}</style>",
    ]
    for share in range(0, AXIS, 25):
        x = LABEL + share * step
        parts.append(f'<line class="grid" x1="{x:.0f}" y1="{LINE}" x2="{x:.0f}" y2="{height}"/>')
        parts.append(f'<text x="{x:.0f}" y="12" text-anchor="middle">{share} %</text>')
    for k, row in enumerate(rows):
        y, us = LINE * (k + 1), row["us"]
        width = min(AXIS, 100 * us["copy"] / us[OURS]) * step
        parts.append(f'<text x="{LABEL - 6}" y="{y + 13}" text-anchor="end">{escape(row["what"])}</text>')
        parts.append(f'<rect class="bar" x="{LABEL}" y="{y + 3}" width="{width:.1f}" height="{LINE - 6}"/>')
        if "torch" in us:
            x = LABEL + min(AXIS, 100 * us["copy"] / us["torch"]) * step
            parts.append(f'<rect class="mark" x="{x - 1.5:.1f}" y="{y + 1}" width="3" height="{LINE - 2}"/>')
    parts.append(
        f'<text x="{LABEL}" y="{height - 4}">bar: the entry; mark: torch; 100 %: a copy as large</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def merged(files: list[str], kept: dict[str, Any] | None = None) -> dict[str, Any]:
    """All rows, each from the last file that has it, of what is kept or else of the first file. ValueError
    where a file is of another device or of other versions. Dates are told together."""
    documents = [json.loads(Path(f).read_text(encoding="utf-8")) for f in files]
    document, *later = documents if kept is None else [kept, *documents]
    rows = {(r["family"], r["what"]): r for r in document["rows"]}
    dates = set(document["date"].split(", "))
    for one in later:
        if differ := [k for k in document if k not in ("rows", "date") and one[k] != document[k]]:
            raise ValueError(f"not measured alike: {', '.join(differ)}")
        rows |= {(r["family"], r["what"]): r for r in one["rows"]}
        dates.add(one["date"])
    return {**document, "date": ", ".join(sorted(dates)), "rows": list(rows.values())}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.speed.page")
    parser.add_argument("files", nargs="*", metavar="FILE", help="times to keep, later ones before earlier")
    parser.add_argument("--anew", action="store_true", help="forget the rows that were kept")
    given = parser.parse_args()
    DOCS.mkdir(exist_ok=True)
    if given.files:
        try:
            old = None if given.anew or not KEPT.exists() else json.loads(KEPT.read_text(encoding="utf-8"))
            document = merged(given.files, old)
        except (OSError, ValueError, LookupError) as e:
            parser.error(f"{e}")
        KEPT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    document = json.loads(KEPT.read_text(encoding="utf-8"))
    PAGE.write_text(page(document), encoding="utf-8")
    PLOT.write_text(plot(document), encoding="utf-8")


if __name__ == "__main__":
    main()
