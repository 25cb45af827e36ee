"""The code of an answer: the one module that is meant, or what to tell the model.

Several blocks may stand in an answer, the original quoted among them. Taken is the last one that is a whole
module: it parses, imports something and defines what is wanted. Nothing is put together or completed here,
and nothing is ever executed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from translator.llm import arguments
from translator.llm.fences import Block, bare, blocks, spoken
from translator.llm.messages import Problem

LONGEST = 4 * 2**20  # characters of an answer that are looked at
LONGEST_CODE = 256 * 2**10  # characters of a port; the longest of ours have a tenth
_PARSED = 4 * LONGEST_CODE  # characters that are parsed in all
_TRIED = 24  # blocks that are looked at, the last ones of an answer
_NESTED = 2  # JSON texts in one another
_PYTHON = frozenset({"", "python", "python3", "py", "py3", "cute", "cutedsl"})
_DIFF = frozenset({"diff", "patch", "udiff"})
_KEYS = ("code", "source", "content", "port", "port.py", "python", "module", "file", "text", "answer")
_HUNK = re.compile(r"^@@ .*@@|^\*\*\* (Begin Patch|Update File)|^<{5,} SEARCH|^>{5,} REPLACE", re.MULTILINE)
_HEADS = re.compile(r"^--- \S.*\n\+\+\+ \S", re.MULTILINE)
_STARTS = re.compile(r"^(?:import |from \w|@\w|def |class |#|\"\"\"|''')", re.MULTILINE)
_LEFT_OUT = re.compile(
    r"^[ \t]*#[ \t]*(?:\.\.\.|…).{0,80}\b(?:same|unchanged|rest|existing|remain\w*|previous\w*|omitted)\b"
    r"|^[ \t]*#[ \t]*[(\[]?(?:the )?rest of (?:the |this )?(?:code|file|kernel|module|function|class)\b"
    r".{0,60}\b(?:unchanged|same|here|omitted|before)\b",
    re.MULTILINE | re.IGNORECASE,
)
_WHOLE = "Send the whole file, from its first import to its last line, in one ```python block."


@dataclass(frozen=True, slots=True)
class Extracted:
    """A module's text, ending in a newline."""

    code: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A text that was parsed: what it defines, or why it isn't Python."""

    code: str
    names: tuple[str, ...] = ()
    defines: bool = False  # a function or a class, not only variables
    imports: bool = False
    wrong: str = ""


def extract(answer: str, wanted: Sequence[str] = ()) -> Extracted | Problem:
    """The module in `answer` that defines every name of `wanted` at its top level. Never raises."""
    if len(answer) > LONGEST:
        return _none(f"it has {len(answer)} characters")
    text = answer.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    said = spoken(text)
    if said is None:
        return _none("it ends before its thoughts do")
    return _Search(tuple(wanted)).taken(said)


class _Search:
    """One answer's search. What it parses is limited in all, so that no answer keeps it busy."""

    def __init__(self, wanted: tuple[str, ...]) -> None:
        self.wanted = wanted
        self.left = _PARSED

    def taken(self, text: str, depth: int = 0) -> Extracted | Problem:
        """The code of `text`, which stands in `depth` JSON texts around it."""
        if not text.strip():
            return _none("it is empty")
        nested = depth < _NESTED
        found: Extracted | Problem | None
        if nested and text.lstrip()[0] in '{"' and (found := self._in_json([text], depth)):
            return found
        fenced = blocks(text)
        tried: list[_Read] = []
        if found := self._best([b for b in fenced if b.language in _PYTHON], tried):
            return found
        if nested:
            inner = [next(b.texts()) for b in fenced[-_TRIED:] if b.language == "json"]
            if found := self._in_json(inner, depth):
                return found
        # A block of another language that holds Python which defines what is wanted was only named wrong.
        others = [b for b in fenced if b.language not in _PYTHON | _DIFF | {"json"}]
        if self.wanted and (found := self._best(others, [])):
            return found
        if not fenced and (found := self._best(_unfenced(text), tried)):
            return found
        return _missing(text, fenced, tried, self.wanted)

    def _in_json(self, texts: Sequence[str], depth: int) -> Extracted | None:
        for text in texts:
            for inner in _values(text):
                if isinstance(found := self.taken(inner, depth + 1), Extracted):
                    return found
        return None

    def _best(self, among: Sequence[Block], tried: list[_Read]) -> Extracted | Problem | None:
        """The last whole module; else the last text that defines what is wanted; else None."""
        fallback: _Read | None = None
        for block in list(reversed(among))[:_TRIED]:
            read = self._parsed(block)
            tried.append(read)
            if read.wrong or any(name not in read.names for name in self.wanted):
                continue
            if not (self.wanted or read.defines):
                continue
            if read.imports:
                return _complete(read)
            fallback = fallback or read
        return _complete(fallback) if fallback else None

    def _parsed(self, block: Block) -> _Read:
        """Of the texts that the block may have, the first that is Python."""
        first: _Read | None = None
        for text in block.texts():
            read = self._read(text)
            if read.wrong and not block.whole and text.rstrip().endswith("```"):
                read = self._read(text.rstrip().rstrip("`"))  # its fence stands behind the last line of code
            if not read.wrong:
                return read
            first = first or read
        return first or _Read("", wrong="it is empty")

    def _read(self, text: str) -> _Read:
        if len(text) > LONGEST_CODE:
            return _Read("", wrong=f"it has {len(text)} characters, more than any port")
        if len(text) > self.left:
            return _Read("", wrong="the answer has too much code to look through")
        self.left -= len(text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except SyntaxError as error:
            place = f"line {error.lineno}: " if error.lineno else ""
            return _Read(text, wrong=f"{place}{error.msg}")
        except (ValueError, RecursionError, MemoryError) as error:  # NULs, half surrogates, deep nesting
            return _Read(text, wrong=str(error) or "it is nested too deeply")
        top = list(_top(tree.body))
        return _Read(
            text,
            tuple(dict.fromkeys(name for statement in top for name in _names(statement))),
            any(isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for s in top),
            any(isinstance(s, (ast.Import, ast.ImportFrom)) for s in top),
        )


def _complete(read: _Read) -> Extracted | Problem:
    if left_out := _LEFT_OUT.search(read.code):
        quoted = left_out[0].strip()[:80]
        say = f"Your code leaves parts out (`{quoted}`). {_WHOLE}"
        return Problem.of("CP5326", say, reason=f"it leaves parts out: {quoted}")
    return Extracted(read.code.strip("\n") + "\n")


def _top(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported, those in `if`, `try` and `with` too."""
    stack = list(reversed(body))
    while stack:
        statement = stack.pop()
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            inner = [*statement.body, *getattr(statement, "orelse", [])]
            for handler in getattr(statement, "handlers", []):
                inner += handler.body
            stack += reversed([*inner, *getattr(statement, "finalbody", [])])


def _names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        yield from (t.id for t in statement.targets if isinstance(t, ast.Name))


def _unfenced(text: str) -> list[Block]:
    """An answer without fences: as it is, and from its first line that looks like code."""
    start = _STARTS.search(text)
    cut = [bare(text[start.start() :])] if start and start.start() else []
    return [*cut, bare(text)]


def _values(text: str) -> list[str]:
    """Texts in an answer that is JSON: the JSON string itself, or those under telling keys."""
    inner = text.strip()
    read = arguments.parse('{"code": ' + inner + "}" if inner[:1] == '"' else inner)
    if isinstance(read, Problem):
        return []
    values = dict(read.values)
    nested = values.get("arguments") or values.get("parameters")
    if isinstance(nested, dict):
        values |= nested
    elif isinstance(nested, str) and not isinstance(more := arguments.parse(nested), Problem):
        values |= more.values
    return [value for key in _KEYS if isinstance(value := values.get(key), str)]


def _none(reason: str) -> Problem:
    return Problem.of("CP5323", f"There is no Python code in your answer ({reason}). {_WHOLE}", reason=reason)


def _missing(text: str, fenced: list[Block], tried: list[_Read], wanted: tuple[str, ...]) -> Problem:
    """What to say where no text of the answer will do."""
    if any(b.language in _DIFF for b in fenced) or _HUNK.search(text) or _HEADS.search(text):
        say = f"Your answer is a change to a file, and changes are not applied. {_WHOLE}"
        return Problem.of("CP5326", say, reason="it is a diff")
    wrong = [t for t in tried if t.wrong]
    sound = [t for t in tried if not t.wrong and (t.defines or t.imports)]
    meant = next((t for t in wrong if any(f"def {name}" in t.code for name in wanted)), None)
    if meant is None and sound and wanted:
        # The text that came nearest: most of the wanted names, and of equals the last.
        near = max(sound, key=lambda t: sum(name in t.names for name in wanted))
        missing = [name for name in wanted if name not in near.names]
        lacks, has = ", ".join(missing), ", ".join(near.names[:12]) or "nothing"
        say = f"Your code does not define {_ticked(missing)} at its top level; it defines {has}. {_WHOLE}"
        return Problem.of("CP5325", say, wanted=lacks, found=has)
    if fenced and wrong and any(b.language in _PYTHON for b in fenced):
        whole = all(b.whole for b in fenced)
        reason = (meant or wrong[0]).wrong + ("" if whole else ", and its block never ends")
        say = f"Your code is not Python: {reason}. {_WHOLE}"
        return Problem.of("CP5324", say, reason=reason)
    if not fenced and wrong and _STARTS.search(text):
        say = f"Your answer is not Python as it stands: {wrong[-1].wrong}. {_WHOLE}"
        return Problem.of("CP5324", say, reason=wrong[-1].wrong)
    if fenced and (languages := sorted({b.language for b in fenced if b.language not in _PYTHON})):
        return _none(f"its blocks are {', '.join(languages)[:80]}")
    return _none("it has neither a block of code nor code without one")


def _ticked(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
