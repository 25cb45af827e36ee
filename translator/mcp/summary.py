"""The text beside each document: all that an agent sees where its program passes on no documents. Text of
sources stays data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from translator.mcp import resources
from verify.report.visible import visible

_MOST = 12  # kernels, hits and the like that are named
_FEW = 6  # reasons and questions of one kernel
_LONG = 240  # characters of one message
_REASON = 1_200  # of one that says why something failed
_WHOLE = 32_000  # of a page, or of a proven kernel with its notes
_GOOD = ("PASSED", "COMPILED", "NOT_RUN")
Document = Mapping[str, Any]


def summary(tool: str, document: Document, asked: Sequence[str] = ()) -> str:
    """What `document` says to one who sees nothing else of it; a failure's message for one. `asked` are the
    paths that the tool was given; it works on a copy of a target, and answers belong into the user's own."""
    if "error" in document:
        return _cut(document["error"]["message"], _REASON)
    if tool in _OF_PATHS:
        return "\n".join(_OF_PATHS[tool](document, asked))
    return "\n".join(_SHORT[tool](document))


def _cut(text: str, most: int = _LONG) -> str:
    text = visible(" ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _whole(text: str, rest: str) -> str:
    """A text of several lines; one that is too long ends with where the rest of it is."""
    text = visible(text).strip()
    if len(text) <= _WHOLE:
        return text
    return f"{text[:_WHOLE].rpartition(chr(10))[0]}\n… cut here; all of it: {rest}"


def _named(lines: list[str], most: int = _MOST) -> list[str]:
    more = len(lines) - most
    return lines if more <= 0 else [*lines[:most], f"… and {more} more"]


def _errors(diagnostics: list[Document]) -> str:
    found = [f"{d['code']} {d['message']}{_place(d)}" for d in diagnostics if d["severity"] == "error"]
    return _cut("; ".join(dict.fromkeys(found)))


def _place(d: Document) -> str:
    return f" ({PurePath(d['path']).name}:{d['line']})" if d["line"] and d["path"] else ""


def _port(d: Document, asked: Sequence[str]) -> list[str]:
    told = []
    for k in d["kernels"]:
        name = k["instantiation"] or k["kernel"] or k["source"] or ", ".join(asked)
        head = " | ".join(p for p in (f"{_cut(name)}: {k['status']}", k["out"] or "") if p)
        told.append("\n".join([head, *_reasons(k), *_questions(k["questions"], k["out"] or "")]))
    s = d["summary"]
    lines = [*_named(told), f"proven: {s['proven']}"]
    return [*lines, *(f"{stage} NOT_RUN: {_cut(why)}" for stage, why in s["not_run"].items())]


def _reasons(k: Document) -> list[str]:
    """Why a kernel is not PASSED, with lines. CP7018 quotes a question, and all of them are told anyway."""
    grave = [d for d in k["diagnostics"] if d["severity"] == "error"]
    if not grave and k["status"] not in _GOOD:
        warnings = (d for d in k["diagnostics"] if d["severity"] == "warning")
        grave = [d for d in warnings if d["code"] != "CP7018" or not k["questions"]]
    found = []
    for d in grave:
        hint = f"; {d['hint']}" if d["hint"] else ""
        found.append("  " + _cut(f"{d['code']} {d['message']}{_place(d)}{hint}", _REASON))
    return _named(list(dict.fromkeys(found)), _FEW)


def _questions(questions: Sequence[Document], folder: str) -> list[str]:
    """Each with its code and its line of spec.toml, and how they are answered."""
    if not questions:
        return []
    spec = f"{folder}/spec.toml"
    found = [
        "  " + _cut(f"question {q['code']}{_in_spec(q['line'])}: {q['text']}", _REASON) for q in questions
    ]
    return [
        *_named(found, _FEW),
        "  CP7018: while one is open the port can't be PASSED. Ask the user; the answer goes below its"
        f' [[question]] in {spec} as `answer = "…"`; then call verify with {folder}',
    ]


def _in_spec(line: int) -> str:
    return f" (spec.toml:{line})" if line else ""


def _analyze(d: Document) -> list[str]:
    lines = []
    for k in d["kernels"]:
        what = _errors(k["diagnostics"]) or ", ".join(list(k["constructs"])[:6])
        lines.append(f"{_cut(k['instantiation'] or k['kernel'])} (line {k['line']}): {k['effort']}; {what}")
    return [*_named(lines), *_named([f"{p['code']} {_cut(p['message'])}" for p in d["problems"]])]


def _verify(d: Document, asked: Sequence[str]) -> list[str]:
    lines = []
    for v in d["verdicts"]:
        lines.append(f"{v['status']}: {_cut(v['proven'])}")
        for s in v["stages"]:
            why = " ".join(p for p in (s.get("code"), s.get("message")) if p)
            line = f" (port.py:{s['line']})" if s.get("line") else ""
            lines.append(f"  {s['stage']}: {s['status']}" + (f": {_cut(why, _REASON)}{line}" if why else ""))
            open_ones = [q.partition(": ") for q in (s.get("parity") or {}).get("open_questions", ())]
            questions = [{"code": code, "text": text, "line": 0} for code, _, text in open_ones]
            lines += _questions(questions, "".join(asked))
    return lines + [_cut(r["message"]) for r in d.get("remarks", ())]


def _search(d: Document) -> list[str]:
    if "hits" in d:
        hits = [f"{h['family']}/{h['id']}: {h['summary']}" for h in d["hits"]]
        return _named(hits) or ["nothing proven fits these words"]
    lines = []
    for k in d["kernels"]:
        fitting = ", ".join(f"{e['family']}/{e['id']}" for e in k["hits"])
        why = [f"  {e['family']}/{e['id']}: {_cut('; '.join(e['reasons']))}" for e in k["hits"]]
        lines.append("\n".join([f"{_cut(k['kernel'])}: {fitting or 'nothing proven fits'}", *_named(why)]))
    return _named(lines) + [_cut(f"{p['code']} {p['message']}") for p in d["problems"]]


def _show(d: Document) -> list[str]:
    address = f"{resources.SCHEME}corpus/{d['family']}/{d['id']}"
    text = f"{d['notes'].strip()}\n\n```python\n{d['kernel'].strip()}\n```"
    return [
        f"{d['family']}/{d['id']}: {d['summary']}",
        f"proven on: {', '.join(d['proven']) or 'nothing'}; with the CUDA that it stands for: {address}",
        "",
        _whole(text, address),
    ]


def _api(d: Document) -> list[str]:
    lines = []
    for n in d["names"]:
        if n["what"] == "unknown":
            near = ", ".join(n["nearest"])
            lines.append(f"{_cut(n['asked'])}: does not exist" + (f"; nearest: {near}" if near else ""))
        else:
            lines.append(_cut(f"{n['name']}{n['signature']} {n['summary']}", _REASON))
    return [*lines, *map(_cut, d["problems"])]


def _map(d: Document) -> list[str]:
    rows = []
    for r in d["rows"]:
        more = [f"{r['code']}:"] if r["code"] else []
        more += [r[key] for key in ("caveat", "hint") if r[key]]
        said = f"{r['cuda']} -> {r['cute']} ({r['support']})"
        rows.append(_cut(f"{said}; {' '.join(more)}" if more else said, _REASON))
    return _named(rows) or ["no row"]


def _explain(d: Document) -> list[str]:
    return [_whole(d["page"].removeprefix("# "), f"{resources.SCHEME}explain/{d['code']}")]


def _doctor(d: Document) -> list[str]:
    told = {"can_port": "port", "can_compare": "compare values", "can_prove": "prove on a GPU"}
    can = ", ".join(words for key, words in told.items() if d[key]) or "nothing"
    lacks = [f"{c['name']}: {c['verdict']}: {_cut(c['costs'])}" for c in d["checks"] if c["verdict"] != "ok"]
    return [f"this machine can: {can}", *lacks]


_OF_PATHS: dict[str, Callable[[Document, Sequence[str]], list[str]]] = {
    "port": _port,
    "verify": _verify,
    "bench": _verify,
}
_SHORT: dict[str, Callable[[Document], list[str]]] = {
    "analyze": _analyze,
    "corpus_search": _search,
    "corpus_show": _show,
    "api_lookup": _api,
    "map_builtin": _map,
    "explain": _explain,
    "doctor": _doctor,
}
