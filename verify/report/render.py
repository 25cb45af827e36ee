"""The document: entries in, the text of one HTML file out. Same entries, same bytes; nothing in it is loaded
from elsewhere, and its policy lets a browser run only the script that stands here."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from verify.codes import CODES
from verify.report import charts, page, times, words
from verify.report.code import LineTable, panes_of
from verify.report.collect import BROKEN_SEAL, CHANGED, NO_VERDICT, Entry
from verify.report.visible import visible
from verify.summary import Row, geometric_mean, row_of
from verify.verdict import Status, Verdict

# The columns of the table of kernels: name, and whether it holds numbers.
_COLUMNS = (
    ("status", False),
    ("kernel", False),
    ("code", False),
    ("counted runs", True),
    ("worst error", True),
    ("mutation score", True),
    ("original / port time", True),
    ("rating", False),
    ("time to verify", True),
)


def rows_of(entries: Sequence[Entry]) -> list[tuple[Entry, Row]]:
    """The entries with their figures, what needs a look first."""
    rows = [(e, _row(e)) for e in entries]
    return sorted(rows, key=lambda r: (words.gravity(r[1].status), r[1].name, str(r[0].folder)))


def _row(entry: Entry) -> Row:
    if entry.verdict is not None:
        row = row_of(entry.verdict, entry.name)
        doubts = [p.code for p in entry.problems if p.code in (CHANGED, BROKEN_SEAL)]
        return replace(row, code=" ".join(dict.fromkeys([*row.code.split(), *doubts])))
    code = next((p.code for p in entry.problems if p.code != NO_VERDICT), NO_VERDICT)
    status = words.UNREADABLE if entry.unreadable else str(Status.NOT_RUN)
    return Row(status=status, name=entry.name, kernel="", code=code)


def totals(rows: Sequence[Row]) -> str:
    """One line of what all verdicts say together."""
    counted = [r.runs for r in rows if r.runs is not None]
    told = f"{len(rows)} kernel{'' if len(rows) == 1 else 's'}"
    return told + (f", {words.count(sum(counted))} counted runs" if counted else "")


def _statuses(rows: Sequence[Row]) -> list[tuple[str, int]]:
    found = Counter(r.status for r in rows)
    return sorted(found.items(), key=lambda s: (words.gravity(s[0]), s[0]))


def render(entries: Sequence[Entry]) -> str:
    """The report as text."""
    env = _environment()
    rows = rows_of(entries)
    timed = [r.ratio[0] for _, r in rows if r.ratio is not None]
    dots = [charts.Dot(e.anchor, visible(r.name), *r.ratio, r.rating) for e, r in rows if r.ratio is not None]
    table = LineTable()
    kernel = env.get_template("kernel.html.j2")
    pages = [
        kernel.render(
            _kernel(e, r, table, rows[k - 1][0] if k else None, rows[k + 1][0] if k + 1 < len(rows) else None)
        )
        for k, (e, r) in enumerate(rows)
    ]
    style = env.get_template("report.css").render()
    early, script = (_text(env, name) for name in ("early.js", "report.js"))
    made = env.get_template("report.html.j2").render(
        style=Markup(style),
        early=Markup(early),
        script=Markup(script),
        style_hash=_hash(style),
        early_hash=_hash(early),
        script_hash=_hash(script),
        totals=totals([r for _, r in rows]),
        mean=geometric_mean(timed),
        dots=len(timed),
        statuses=_statuses([r for _, r in rows]),
        columns=_COLUMNS,
        rows=rows,
        ratio_chart=charts.ratios(dots) if len(dots) > 1 else "",
        versions=_versions([e.verdict for e in entries if e.verdict is not None]),
        pages=Markup("".join(pages)),
        lines=table.rows,
    )
    return made.lstrip("\n")


def _environment() -> Environment:
    env = Environment(
        loader=PackageLoader("verify.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda v: v if isinstance(v, Markup) else visible(str(v)),
    )
    env.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    for name in (
        "tone",
        "gravity",
        "count",
        "figure",
        "micros",
        "seconds",
        "score",
        "size",
        "share",
        "triple",
    ):
        env.globals[name] = getattr(words, name)
    for name in ("counted", "errors", "grouped", "histograms", "more", "replay", "resources"):
        env.globals[name] = getattr(page, name)
    for name in ("clocks", "floors", "roof", "time_chart"):
        env.globals[name] = getattr(times, name)
    env.globals |= {
        "compared": _compared,
        "diff": _diff,
        "environment": _told_environment,
        "meaning": lambda code: CODES.get(code, ""),
    }
    return env


def _text(env: Environment, name: str) -> str:
    assert env.loader is not None
    return env.loader.get_source(env, name)[0]


def _hash(text: str) -> Markup:
    """As a content security policy names an inline script or style."""
    return Markup("sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode())


def _kernel(
    entry: Entry, row: Row, table: LineTable, before: Entry | None, after: Entry | None
) -> dict[str, Any]:
    stages = entry.verdict.stages if entry.verdict is not None else []
    parity = next((s.parity for s in stages if s.parity is not None), None)
    sanitize = next((s.sanitize for s in stages if s.sanitize is not None), None)
    return {
        "e": entry,
        "v": entry.verdict,
        "row": row,
        "before": before,
        "after": after,
        "panes": panes_of(entry, table),
        "parity": parity,
        "sanitize": sanitize,
        "bench": next((s.bench for s in stages if s.bench is not None), None),
        "compiled": next((s.compile for s in stages if s.compile is not None), None),
        "findings": [*(parity.findings if parity else []), *(sanitize.findings if sanitize else [])],
    }


def _compared(algorithm: Any) -> list[page.Pair]:
    """The rows of a comparison of algorithms."""

    def told(x: int | str | None) -> str:
        return "" if x is None else words.count(x) if isinstance(x, int) else x

    return [
        page.Pair(f"{r.name}, {r.unit}" if r.unit else r.name, told(r.original), told(r.port), r.telling)
        for r in algorithm.rows
    ]


def _diff(text: str) -> Markup:
    """A unified diff with what came and went marked."""
    kinds = {"+": "ins", "-": "del"}
    made = []
    for line in visible(text).split("\n"):
        kind = kinds.get(line[:1]) if not line.startswith(("+++", "---")) else None
        made.append(f"<{kind}>{escape(line)}</{kind}>" if kind else str(escape(line)))
    return Markup("\n".join(made))


def _told_environment(verdict: Verdict) -> list[tuple[str, str]]:
    """Versions and the GPU of one verdict, flat."""
    made: list[tuple[str, str]] = []
    for name, value in verdict.environment.items():
        if isinstance(value, dict):
            made += [(f"{name} {k}" if name != "versions" else str(k), _plain(v)) for k, v in value.items()]
        else:
            made.append((name, "none" if value is None else _plain(value)))
    return made


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _versions(verdicts: Sequence[Verdict]) -> list[tuple[str, list[tuple[str, int]]]]:
    """Each part of the environment with its values, and how many verdicts have each."""
    found: dict[str, Counter[str]] = {}
    for v in verdicts:
        for name, value in _told_environment(v):
            found.setdefault(name, Counter())[value] += 1
    return [(name, sorted(values.items(), key=lambda x: (-x[1], x[0]))) for name, values in found.items()]
