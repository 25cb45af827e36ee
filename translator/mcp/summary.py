"""A few lines of text beside each document: what an agent reads first. Text of sources stays data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from verify.report.visible import visible

_MOST = 12  # kernels, hits and the like that are named
_LONG = 240  # characters of one message
Document = Mapping[str, Any]


def summary(tool: str, document: Document) -> str:
    """What `document` says, in short; a failure's message for one."""
    if "error" in document:
        return _cut(document["error"]["message"])
    return "\n".join(_SHORT[tool](document))


def _cut(text: str) -> str:
    text = visible(" ".join(text.split()))
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def _named(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST
    return lines if more <= 0 else [*lines[:_MOST], f"… and {more} more"]


def _errors(diagnostics: list[Document]) -> str:
    found = [f"{d['code']} {d['message']}" for d in diagnostics if d["severity"] == "error"]
    return _cut("; ".join(dict.fromkeys(found)))


def _port(d: Document) -> list[str]:
    lines = []
    for k in d["kernels"]:
        name = k["instantiation"] or k["kernel"] or k["source"]
        parts = [f"{_cut(name)}: {k['status']}", _errors(k["diagnostics"]), k["out"] or ""]
        lines.append(" | ".join(p for p in parts if p))
    s = d["summary"]
    lines = [*_named(lines), f"proven: {s['proven']}"]
    return [*lines, *(f"{stage} NOT_RUN: {_cut(why)}" for stage, why in s["not_run"].items())]


def _analyze(d: Document) -> list[str]:
    lines = []
    for k in d["kernels"]:
        what = _errors(k["diagnostics"]) or ", ".join(list(k["constructs"])[:6])
        lines.append(f"{_cut(k['instantiation'] or k['kernel'])} (line {k['line']}): {k['effort']}; {what}")
    return [*_named(lines), *_named([f"{p['code']} {_cut(p['message'])}" for p in d["problems"]])]


def _verify(d: Document) -> list[str]:
    lines = []
    for v in d["verdicts"]:
        lines.append(f"{v['status']}: {_cut(v['proven'])}")
        for s in v["stages"]:
            why = " ".join(p for p in (s.get("code"), s.get("message")) if p)
            lines.append(f"  {s['stage']}: {s['status']}" + (f": {_cut(why)}" if why else ""))
    return lines + [_cut(r["message"]) for r in d.get("remarks", ())]


def _search(d: Document) -> list[str]:
    if "hits" in d:
        hits = [f"{h['family']}/{h['id']}: {h['summary']}" for h in d["hits"]]
        return _named(hits) or ["nothing proven fits these words"]
    lines = []
    for k in d["kernels"]:
        fitting = ", ".join(f"{e['family']}/{e['id']}" for e in k["hits"])
        lines.append(f"{_cut(k['kernel'])}: {fitting or 'nothing proven fits'}")
    return _named(lines) + [_cut(f"{p['code']} {p['message']}") for p in d["problems"]]


def _show(d: Document) -> list[str]:
    return [f"{d['family']}/{d['id']}: {d['summary']}", f"proven on: {', '.join(d['proven']) or 'nothing'}"]


def _api(d: Document) -> list[str]:
    lines = []
    for n in d["names"]:
        if n["what"] == "unknown":
            near = ", ".join(n["nearest"])
            lines.append(f"{_cut(n['asked'])}: does not exist" + (f"; nearest: {near}" if near else ""))
        else:
            lines.append(_cut(f"{n['name']}{n['signature']} {n['summary']}"))
    return [*lines, *map(_cut, d["problems"])]


def _map(d: Document) -> list[str]:
    return _named([_cut(f"{r['cuda']} -> {r['cute']} ({r['support']})") for r in d["rows"]]) or ["no row"]


def _explain(d: Document) -> list[str]:
    return [d["page"].split("\n", 1)[0].removeprefix("# ")]


def _doctor(d: Document) -> list[str]:
    told = {"can_port": "port", "can_compare": "compare values", "can_prove": "prove on a GPU"}
    can = ", ".join(words for key, words in told.items() if d[key]) or "nothing"
    lacks = [f"{c['name']}: {c['verdict']}: {_cut(c['costs'])}" for c in d["checks"] if c["verdict"] != "ok"]
    return [f"this machine can: {can}", *lacks]


_SHORT: dict[str, Callable[[Document], list[str]]] = {
    "analyze": _analyze,
    "port": _port,
    "verify": _verify,
    "bench": _verify,
    "corpus_search": _search,
    "corpus_show": _show,
    "api_lookup": _api,
    "map_builtin": _map,
    "explain": _explain,
    "doctor": _doctor,
}
