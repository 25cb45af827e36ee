"""The tools that a model may call: what each takes is a table, what each does one small function.

A tool reads the corpus and the index of names, or has the candidate judged; none touches a user's file.
What it answers is text; what it found out about the candidate goes back to the loop beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corpus.catalog import KERNEL, NOTES, TWIN, Item, find
from corpus.problem import CorpusError
from corpus.search import search
from translator.grounding.api import Api
from translator.grounding.blocks import Blocks
from translator.llm.arguments import parse
from translator.llm.messages import Problem, Tool, ToolCall
from translator.loop.blocks import fitting
from translator.loop.judged import Judged
from translator.loop.workshop import Workshop

_TEXT: dict[str, object] = {"type": "string"}
_MOST_TEXT = 24_000  # characters of one answer; a longer one says where it was cut
_SOURCE: dict[str, object] = {
    "source": {**_TEXT, "description": "the whole file port.py; left out: the last one given, with `edits`"},
    "edits": {
        "type": "array",
        "description": "changes to the last file given, in order; each `old` must occur exactly once",
        "items": {
            "type": "object",
            "properties": {"old": _TEXT, "new": _TEXT},
            "required": ["old", "new"],
        },
    },
}


def _schema(properties: Mapping[str, object], required: Sequence[str] = ()) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


TOOLS: tuple[Tool, ...] = (
    Tool(
        "look_up_api",
        "Signatures of names of the installed CuTe DSL, as in cute.arch.shuffle_sync_bfly; for an unknown"
        " name the nearest that exist.",
        _schema({"names": {"type": "array", "items": _TEXT}}, ["names"]),
    ),
    Tool(
        "search_corpus",
        "Proven kernels and building blocks by words, best first: ids and summaries.",
        _schema({"words": _TEXT}, ["words"]),
    ),
    Tool(
        "read_entry",
        "A proven kernel in whole: its CUDA twin, its CuTe DSL text, its notes.",
        _schema({"id": _TEXT}, ["id"]),
    ),
    Tool(
        "read_block",
        "A building block in whole, to be copied into port.py.",
        _schema({"name": _TEXT}, ["name"]),
    ),
    Tool(
        "check",
        "Names, the rules for ports, a compile for the GPU; runs nothing. Costs an attempt, as each answer.",
        _schema(_SOURCE),
    ),
    Tool(
        "verify",
        "All of `check`, then the values against the CUDA original in every case, races and bad accesses;"
        " times where there is a GPU.",
        _schema(_SOURCE),
    ),
    Tool(
        "submit",
        "Like verify; if it passes, this is your answer and the conversation ends.",
        _schema(_SOURCE),
    ),
)
JUDGING = frozenset({"check", "verify", "submit"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back to the model: `text`, or a `problem` of the call with the `schema` that it must fit, or
    a candidate that was judged; what is said of that is the loop's."""

    text: str = ""
    problem: str = ""
    schema: Mapping[str, object] | None = None
    judged: Judged | None = None
    submitted: bool = False
    compiled_only: bool = False


@dataclass(slots=True)
class Desk:
    """What the tools of one conversation work on; `source` is the last candidate given."""

    workshop: Workshop
    api: Api | None
    blocks: Blocks
    items: Sequence[Item]
    source: str = ""
    _doings: dict[str, Callable[[Mapping[str, Any]], Answer]] = field(init=False)

    def __post_init__(self) -> None:
        self._doings = {
            "look_up_api": self._look_up,
            "search_corpus": self._search,
            "read_entry": self._entry,
            "read_block": self._block,
            "check": lambda given: self._judge(given, "check"),
            "verify": lambda given: self._judge(given, "verify"),
            "submit": lambda given: self._judge(given, "submit"),
        }

    def call(self, call: ToolCall) -> Answer:
        """What `call` gives. A call that can't be read or made is answered with what is wrong with it."""
        tool = next((t for t in TOOLS if t.name == call.name), None)
        if tool is None:
            return Answer(problem=f"there is no such tool; there are: {', '.join(t.name for t in TOOLS)}")
        read = parse(call.arguments, tool)
        if isinstance(read, Problem):
            return Answer(problem=read.say, schema=tool.parameters)
        return self._doings[call.name](read.values)

    def _look_up(self, given: Mapping[str, Any]) -> Answer:
        if self.api is None:
            return Answer("No CuTe DSL is installed here; names can't be looked up.")
        return Answer(_cut("\n".join(self._described(str(n)) for n in given["names"][:40])))

    def _described(self, name: str) -> str:
        assert self.api is not None
        entry = self.api.lookup(name)
        if entry is not None:
            return f"{entry.name}{entry.signature}  [{entry.kind}] {entry.summary}".rstrip()
        if (block := self.blocks.lookup(name)) is not None:
            return f"{name}: a building block, {block.signature}: {block.summary}"
        if "._mlir" in name:
            return f"{name}: private to the DSL, so not in this index; it may exist all the same"
        near = ", ".join(self.api.nearest(name))
        return f"{name}: does not exist" + (f"; nearest: {near}" if near else "")

    def _search(self, given: Mapping[str, Any]) -> Answer:
        hits = search(str(given["words"]), list(self.items), most=6)
        lines = [f"entry {h.item.entry.family}/{h.item.entry.id}: {h.item.entry.summary}" for h in hits]
        lines += [
            f"block {b}: {self.blocks.summary(b)}" for b in fitting(self.blocks, str(given["words"]), 6)
        ]
        return Answer("\n".join(lines) or "Nothing proven fits these words.")

    def _entry(self, given: Mapping[str, Any]) -> Answer:
        try:
            item = find(str(given["id"]), list(self.items))
        except CorpusError as e:
            return Answer("\n".join(p.message for p in e.problems))
        parts = [f"## {title}\n{item.text(name)}" for title, name in _PARTS]
        return Answer(_cut("\n\n".join(parts)))

    def _block(self, given: Mapping[str, Any]) -> Answer:
        text = self.blocks.read(str(given["name"]))
        if text is None:
            return Answer(f"There is no block {given['name']!r}; there are: {', '.join(self.blocks.names)}.")
        return Answer(_cut(text))

    def _judge(self, given: Mapping[str, Any], how: str) -> Answer:
        source, problem = self._source(given)
        if problem:
            return Answer(problem=problem)
        self.source = source
        if how == "check":
            return Answer(judged=self.workshop.compiled(source), compiled_only=True)
        return Answer(judged=self.workshop.compared(source), submitted=how == "submit")

    def _source(self, given: Mapping[str, Any]) -> tuple[str, str]:
        """The candidate that a call means, or what is wrong with the call."""
        source = str(given.get("source") or self.source)
        if any("\ud800" <= c <= "\udfff" or c == "\0" for c in source):
            return "", "The file has characters that are no text (lone surrogates or NUL)."
        if not source.strip():
            return "", "There is no file yet: give `source`, the whole of port.py."
        for k, edit in enumerate(given.get("edits") or (), 1):
            if not isinstance(edit, dict) or not all(isinstance(edit.get(n), str) for n in ("old", "new")):
                return "", f"Edit {k}: an edit is an object with the texts `old` and `new`."
            old, new = edit["old"], edit["new"]
            found = source.count(old) if old else 0
            if found != 1:
                where = "does not occur" if not found else f"occurs {found} times"
                return "", f"Edit {k}: its `old` text {where} in the file; nothing was changed."
            source = source.replace(old, new)
        return source, ""


_PARTS = (("CUDA", TWIN), ("CuTe DSL", KERNEL), ("Notes", NOTES))


def _cut(text: str) -> str:
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[:_MOST_TEXT]}\n[cut here: {len(text) - _MOST_TEXT} more characters]"
