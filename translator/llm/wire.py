"""Bytes of a chat completion, whole or as a stream of events, as one answer.

Endpoints differ in what they add and leave out, so unknown keys are ignored here; what an answer can't do
without is checked.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from translator.llm.messages import ToolCall


class UnusableError(Exception):
    """A body that holds no answer: `kind` says why. Of an error inside a body, `status` is
    the one that it names, or 200, and `also` its code and type."""

    def __init__(
        self, kind: Literal["malformed", "cut", "error"], reason: str, status: int = 200, also: str = ""
    ) -> None:
        super().__init__(reason)
        self.also = also
        self.kind = kind
        self.reason = reason
        self.status = status


@dataclass(slots=True)
class Answer:
    """What a body says. Counts are None where it has none; `choices` is False where there is no choice."""

    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    thought: bool = False
    finish: str = ""
    model: str = ""
    prompt: int | None = None
    answer: int | None = None
    choices: bool = False


class _Foreign(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Function(_Foreign):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(_Foreign):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Text(_Foreign):
    text: str | None = None


class _Part(_Foreign):
    """A message, or a piece of one."""

    content: str | list[_Text] | None = None
    refusal: str | None = None
    reasoning: Any = None
    reasoning_content: Any = None
    tool_calls: list[_Call] | None = None


class _Choice(_Foreign):
    index: int | None = None
    message: _Part | None = None
    delta: _Part | None = None
    finish_reason: str | None = None


class _Counts(_Foreign):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Body(_Foreign):
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Counts | None = None


class _Models(_Foreign):
    data: list[dict[str, Any]] | None = None


def read(body: bytes) -> Answer:
    """The answer in `body`, a JSON object or server-sent events, whichever it is. Raises UnusableError."""
    text = _decoded(body)
    start = text.lstrip()
    if re.match(r"(data|event|id|retry)?:", start):
        return _of_events(start)
    if not start:
        raise UnusableError("malformed", "nothing at all")
    if start.startswith("<"):
        title = re.search(r"<title[^>]{0,200}>([^<]{0,200})", start, re.IGNORECASE)
        raise UnusableError("malformed", "an HTML page" + (f" ({title[1].strip()})" if title else ""))
    assembly = _Assembly()
    body_read = _checked(_json(start, "cut"))
    if body_read.choices is None:
        raise UnusableError("malformed", "it has no `choices`")
    assembly.add(body_read)
    return assembly.answer()


def model_names(body: bytes) -> list[str]:
    """The ids in an answer of `/models`, in its order; none where it is something else."""
    try:
        rows = _Models.model_validate(_json(_decoded(body), "malformed")).data or []
    except (UnusableError, ValidationError):
        return []
    return [name for row in rows if isinstance(name := row.get("id"), str)]


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        cut = error.reason == "unexpected end of data"
        raise UnusableError("cut" if cut else "malformed", f"byte {error.start} is not UTF-8") from None


def _json(text: str, at_end: Literal["cut", "malformed"]) -> Any:
    """The JSON of `text`; `at_end` is what it means where the text stops in the middle of it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        ended = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        raise UnusableError(at_end if ended else "malformed", f"not JSON: {error}") from None
    except (RecursionError, ValueError) as error:  # nested too deeply; a number of too many digits
        raise UnusableError("malformed", f"not JSON: {error}") from None


def _checked(read: Any) -> _Body:
    """The body's parts, or the error that it holds."""
    if not isinstance(read, dict):
        raise UnusableError("malformed", f"a JSON {type(read).__name__} where an object should be")
    error = read.get("error")
    if error is None and read.get("object") == "error":
        error = read
    if error:
        raise UnusableError("error", *_said(error))
    try:
        return _Body.model_validate(read)
    except ValidationError as failed:
        first = failed.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise UnusableError("malformed", f"`{place}`: {first['msg']}") from None


def _said(error: Any) -> tuple[str, int, str]:
    """What an error says, the HTTP status that it names or 200, and its code and type."""
    if not isinstance(error, dict):
        return str(error), 200, ""
    status = int(str(error["code"])) if re.fullmatch(r"[45]\d\d", str(error.get("code"))) else 200
    known = {k: v if isinstance(v, str) else json.dumps(v) for k, v in error.items() if v}
    also = " ".join(known.get(k, "") for k in ("code", "type", "param"))
    return known.get("message") or known.get("detail") or json.dumps(error), status, also


def error_words(body: str) -> tuple[str, str]:
    """What the body of a failed request says, and its code and type; the body itself where it is no JSON."""
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        return body, ""
    text, _, also = _said(read.get("error") or read if isinstance(read, dict) else read)
    return text, also


def _of_events(text: str) -> Answer:
    assembly = _Assembly()
    done = False
    events = _events(text)
    for number, data in enumerate(events):
        if data.strip() == "[DONE]":
            done = True
            break
        assembly.add(_checked(_json(data, "cut" if number == len(events) - 1 else "malformed")))
    if not done and not assembly.finish:
        raise UnusableError("cut", f"the stream stops after event {len(events)}, without its end")
    return assembly.answer()


def _events(text: str) -> list[str]:
    """The data of each event. Some servers leave out blank lines: a line of whole JSON is an event."""
    found: list[str] = []
    lines: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            found += lines if len(lines) > 1 and all(map(_whole, lines)) else ["\n".join(lines)]
            lines = []
    return found


def _whole(line: str) -> bool:
    return line.strip() == "[DONE]" or (line.startswith("{") and line.rstrip().endswith("}"))


@dataclass(slots=True)
class _Pieces:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Assembly:
    """Puts the pieces of the first choice together."""

    content: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: list[_Pieces] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)  # the endpoint's index: place in `calls`
    thought: bool = False
    choices: bool = False
    finish: str = ""
    model: str = ""
    usage: _Counts = field(default_factory=_Counts)

    def add(self, body: _Body) -> None:
        self.model = body.model or self.model
        self.usage = body.usage or self.usage
        for choice in body.choices or []:
            if choice.index:  # another choice than the first: not asked for
                continue
            self.choices = True
            self.finish = choice.finish_reason or self.finish
            part = choice.message or choice.delta
            if part is not None:
                self._part(part)

    def _part(self, part: _Part) -> None:
        if isinstance(part.content, list):
            self.content += [t.text for t in part.content if t.text]
        elif part.content:
            self.content.append(part.content)
        if part.refusal:
            self.refusal.append(part.refusal)
        self.thought = self.thought or bool(part.reasoning or part.reasoning_content)
        for call in part.tool_calls or []:
            self._call(call)

    def _call(self, call: _Call) -> None:
        place = self.places.get(call.index) if call.index is not None else None
        if call.index is None and not call.id and self.calls:
            place = len(self.calls) - 1  # a piece that says nothing of itself goes on with the last call
        if place is not None and call.id and self.calls[place].id not in ("", call.id):
            place = None  # some endpoints give every call of an answer the index 0
        if place is None:
            place = len(self.calls)
            self.calls.append(_Pieces())
        if call.index is not None:
            self.places[call.index] = place
        pieces = self.calls[place]
        pieces.id = call.id or pieces.id
        if call.function is None:
            return
        pieces.name = pieces.name or call.function.name or ""
        given = call.function.arguments
        if given is not None:
            pieces.arguments.append(given if isinstance(given, str) else json.dumps(given))

    def answer(self) -> Answer:
        calls = []
        for number, pieces in enumerate(self.calls, 1):
            if not pieces.name:
                raise UnusableError("malformed", f"tool call {number} names no tool")
            arguments = _sound("".join(pieces.arguments))
            calls.append(ToolCall(pieces.id or f"call_{number}", pieces.name, arguments))
        return Answer(
            content=_sound("".join(self.content)),
            calls=tuple(calls),
            refusal=_sound("".join(self.refusal)),
            thought=self.thought,
            finish=self.finish,
            model=self.model,
            prompt=self.usage.prompt_tokens,
            answer=self.usage.completion_tokens,
            choices=self.choices,
        )


def _sound(text: str) -> str:
    """`text` without halves of surrogate pairs, which JSON can hold and no file can."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
