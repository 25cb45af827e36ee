"""Sources as the document holds them: each distinct line once, with what is coloured in it; and what is said
about single lines."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pygments.lexers.c_like import CudaLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Token

from verify.codes import CODES
from verify.facts import FindingFacts
from verify.findings import gravest
from verify.report.collect import Entry, Source
from verify.report.visible import visible
from verify.verdict import StageResult

Tone = Literal["bad", "warn", "note"]
Json = dict[str, Any]

_LONGEST = 4_000  # characters of a line, and
_LARGEST = 512_000  # of a source, above which nothing is coloured
# The first that fits a token decides; what none fits stays plain.
_CLASSES = (
    (Token.Comment.Preproc, "p"),
    (Token.Comment, "c"),
    (Token.Literal.String, "s"),
    (Token.Literal.Number, "n"),
    (Token.Keyword.Type, "t"),
    (Token.Keyword, "k"),
    (Token.Operator.Word, "k"),
    (Token.Name.Function, "f"),
    (Token.Name.Class, "f"),
    (Token.Name.Decorator, "d"),
    (Token.Name.Builtin, "b"),
)
_NOTE = re.compile(r"(?:#|//).*\bCP\d{4}\b")


@dataclass(frozen=True, slots=True)
class Note:
    """What is said about a line, from 1; without words the line is only marked."""

    line: int
    tone: Tone
    code: str = ""
    text: str = ""


class LineTable:
    """The distinct lines of a document. Ports share their helpers, instantiations nearly everything."""

    def __init__(self) -> None:
        self._index: dict[tuple[str, str], int] = {}
        self._coloured: dict[tuple[str, tuple[str, ...]], list[int]] = {}

    @property
    def rows(self) -> list[str | list[str]]:
        """In the order of their numbers: the text, or the text and its marks."""
        return [[text, marks] if marks else text for text, marks in self._index]

    def add(self, source: Source, language: Literal["python", "cuda"]) -> list[int]:
        """The numbers of a source's lines, as pairs of a first number and how many follow one another."""
        key = (language, source.lines)
        if key not in self._coloured:
            marks = _marks(source.lines, language)
            rows = [(text, m) for text, m in zip(source.lines, marks, strict=True)]
            numbers = [self._index.setdefault(row, len(self._index)) for row in rows]
            self._coloured[key] = _runs(numbers)
        return self._coloured[key]


def _runs(numbers: Sequence[int]) -> list[int]:
    made: list[int] = []
    for n in numbers:
        if made and made[-2] + made[-1] == n:
            made[-1] += 1
        else:
            made += [n, 1]
    return made


def _marks(lines: Sequence[str], language: Literal["python", "cuda"]) -> list[str]:
    """For each line, as in `x4k3`: a class and for how many UTF-16 units; `x` and what is left are plain."""
    if sum(map(len, lines)) > _LARGEST or any(len(line) > _LONGEST for line in lines):
        return [""] * len(lines)
    lexer = PythonLexer() if language == "python" else CudaLexer()
    made: list[list[tuple[str, int]]] = [[]]
    for _, token, text in lexer.get_tokens_unprocessed("\n".join(lines) + "\n"):
        kind = _class_of(token)
        for k, part in enumerate(text.split("\n")):
            if k:
                made.append([])
            if part and made[-1] and made[-1][-1][0] in (kind, "x" if part.isspace() else kind):
                made[-1][-1] = (made[-1][-1][0], made[-1][-1][1] + _units(part))
            elif part:
                made[-1].append((kind, _units(part)))
    told = [
        "".join(f"{kind}{n}" for kind, n in (row[:-1] if row and row[-1][0] == "x" else row)) for row in made
    ]
    return told[: len(lines)]


@functools.cache
def _class_of(token: Any) -> str:
    return next((letter for known, letter in _CLASSES if token in known), "x")


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def panes_of(entry: Entry, table: LineTable) -> Json:
    """Both sides of a port as data: panes with their lines and notes, and which lines belong together."""
    stages = entry.verdict.stages if entry.verdict is not None else []
    findings = list(_findings(stages))
    panes: list[Json] = []
    if entry.port is not None:
        notes = _of_side(findings, "port", entry.port)
        told = {(n.line, n.code) for n in notes}
        notes += [n for n in _failures(stages) if (n.line, n.code) not in told]
        notes += [*_survivors(stages), *_remarks(entry.port)]
        panes.append(_pane(entry.port, "p", "CuTe DSL", notes, table.add(entry.port, "python")))
    for k, source in enumerate(entry.cuda):
        notes = _of_side(findings, "original", source)
        if k == 0 and len(entry.cuda) == 2:
            notes += _moved(_of_side(findings, "original", entry.cuda[1]), entry.cuda[1], source)
        if k == 0 or len(_moved(notes, source, entry.cuda[0])) < len(notes):
            panes.append(_pane(source, "cd"[k], "CUDA", notes, table.add(source, "cuda")))
    return {"panes": panes, "links": entry.links}


def _pane(source: Source, key: str, title: str, notes: Sequence[Note], lines: list[int]) -> Json:
    last = len(source.lines)
    shown = sorted({n for n in notes if 1 <= n.line <= last}, key=lambda n: (n.line, n.tone, n.code, n.text))
    return {
        "key": key,
        "title": title,
        "name": visible(source.name),
        "lines": lines,
        "notes": [[n.line, n.tone, n.code, visible(n.text)] for n in shown],
    }


def _findings(stages: Sequence[StageResult]) -> Iterator[FindingFacts]:
    for s in stages:
        if s.parity is not None:
            yield from s.parity.findings
        if s.sanitize is not None:
            yield from s.sanitize.findings


def _failures(stages: Sequence[StageResult]) -> list[Note]:
    return [
        Note(s.line, "bad", s.code or "", f"{s.stage}: {s.message or CODES.get(s.code or '', '')}")
        for s in stages
        if s.line
    ]


def _of_side(findings: Sequence[FindingFacts], side: str, source: Source) -> list[Note]:
    made = []
    for f in findings:
        name = f.file.replace("\\", "/").rpartition("/")[2]
        if f.side == side and f.line and (name == source.name or (side == "port" and not name)):
            tone: Tone = "warn" if gravest([f]) is None else "bad"
            made.append(Note(f.line, tone, f.code, f"{f.message} (case {f.case})"))
    return made


def _remarks(port: Source) -> list[Note]:
    return [Note(k, "note") for k, line in enumerate(port.lines, 1) if _NOTE.search(line)]


def _survivors(stages: Sequence[StageResult]) -> list[Note]:
    mutations = [s.parity.mutation for s in stages if s.parity is not None and s.parity.mutation is not None]
    survived = [m for found in mutations for m in found.mutants if m.fate == "survived"]
    return [Note(m.line, "warn", "", f"no run tells this change: {m.what}") for m in survived]


def _moved(notes: Sequence[Note], old: Source, new: Source) -> list[Note]:
    """The notes on lines of the slice that stand once in the author's file, there."""
    made = []
    for n in notes:
        text = old.lines[n.line - 1] if n.line <= len(old.lines) else ""
        if text.strip() and new.lines.count(text) == 1:
            made.append(Note(new.lines.index(text) + 1, n.tone, n.code, n.text))
    return made
