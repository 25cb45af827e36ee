"""What was said to a model and what it answered, as a file, and that file in a model's place.

One JSON object a line: a head with the version, then one exchange a line, written out at once so that a run
that is killed keeps all it paid for. A request is kept as what it adds to the one before it.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from translator.llm.messages import Client, LlmError, Message, Reply, Role, Tool, ToolCall, Usage
from translator.output import naming

VERSION = 1
_SHOWN = 120  # characters of a differing line in a message

# What differs from run to run and means nothing: folders, times, addresses in memory. In order.
_RUN_SPECIFIC: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<date>"),
    (re.compile(r"(?<![\w.~)\]/:<>])/(?:[\w.+@-]+/)+"), "<folder>/"),
    (re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}"), "<run>"),
    (re.compile(r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|us|µs|ms|s|seconds?)\b"), "<time>"),
    (re.compile(r"\bat 0x[0-9a-f]+|\b0x7[ef][0-9a-f]{10}\b"), "<address>"),
    (re.compile(r"\b(pid|process) \d+\b", re.IGNORECASE), r"\1 <number>"),
)


def normalised(text: str) -> str:
    """`text` without what differs from run to run: absolute folders, run folders, dates, times, addresses."""
    for pattern, put in _RUN_SPECIFIC:
        text = pattern.sub(put, text)
    return text


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CallRow(_Strict):
    id: str
    name: str
    arguments: str


class MessageRow(_Strict):
    role: Role
    content: str
    calls: tuple[CallRow, ...] = ()
    call_id: str = ""


class ToolsRow(_Strict):
    """The tools that were offered: their names, and a hash of all that was said of them."""

    names: tuple[str, ...] = ()
    sha256: str = ""


class UsageRow(_Strict):
    prompt: int
    answer: int
    estimated: bool = False


class ReplyRow(_Strict):
    content: str
    calls: tuple[CallRow, ...] = ()
    usage: UsageRow
    finish: str
    seconds: float
    model: str


class ErrorRow(_Strict):
    code: str
    message: str
    fatal: bool
    given: tuple[tuple[str, str], ...] = ()


class Head(_Strict):
    transcript: Literal[1] = 1


class Exchange(_Strict):
    """One request and its answer. The request's messages are the first `kept` of the one before, then
    `added`. An error may have a reply: what was received and paid for. `refused_tools`: it was known by then
    that the endpoint takes none."""

    kept: int
    added: tuple[MessageRow, ...]
    tools: ToolsRow = ToolsRow()
    refused_tools: bool = False
    reply: ReplyRow | None = None
    error: ErrorRow | None = None


class UnwrittenError(OSError):
    """A transcript can't be written to; `reply` was received, and paid for."""

    def __init__(self, error: OSError, reply: Reply | None) -> None:
        super().__init__(error.errno, error.strerror, error.filename)
        self.reply = reply


class Recording:
    """A client that writes down what another one is asked and answers.

    The file must not exist: a transcript is evidence and is not written over. Use one file for each
    conversation; threads that share one are written in the order in which they are answered. Raises OSError:
    UnwrittenError where an answer came that could not be written.
    """

    def __init__(self, client: Client, path: Path) -> None:
        self._client = client
        self._before: tuple[Message, ...] = ()
        self._lock = threading.Lock()
        self._path = path
        self._file = path.open("xb", buffering=0)  # what a full disk refused must not wait for the file's end
        self._write(Head())

    @property
    def tools(self) -> bool:
        """Whether the recorded client takes tools, as far as it knows."""
        return bool(getattr(self._client, "tools", True))

    def close(self) -> None:
        self._file.close()

    def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
        try:
            reply = self._client.ask(messages, tools)
        except LlmError as error:
            row = ErrorRow(code=error.code, message=error.message, fatal=error.fatal, given=error.given)
            self._add(messages, tools, error.reply, row)
            raise
        self._add(messages, tools, reply, None)
        return reply

    def _add(
        self, messages: Sequence[Message], tools: Sequence[Tool], reply: Reply | None, error: ErrorRow | None
    ) -> None:
        with self._lock:
            kept = _common(self._before, messages)
            added = tuple(_message_row(m) for m in messages[kept:])
            answer = _reply_row(reply) if reply else None
            row = Exchange(
                kept=kept,
                added=added,
                tools=_tools_row(tools),
                refused_tools=not self.tools,
                reply=answer,
                error=error,
            )
            try:
                self._write(row)
            except OSError as failed:
                raise UnwrittenError(failed, reply) from None
            self._before = tuple(messages)

    def _write(self, row: BaseModel) -> None:
        made = json.dumps(
            row.model_dump(mode="json", exclude_defaults=not isinstance(row, Head)), ensure_ascii=False
        )
        left = memoryview(made.encode("utf-8", "replace") + b"\n")
        with naming(self._path):
            while left:  # a disk takes what it has room for, and refuses the rest
                left = left[self._file.write(left) or 0 :]


class Replay:
    """Answers from a transcript, in its order.

    Each request must be the recorded one, as `normalised`. Strict, a difference is a fatal CP5319 that says
    where; lenient, it is added to `differences` and the recorded answer is given all the same. One request
    more than were recorded is CP5320. Raises LlmError (CP5321) for a file that can't be read. A last line
    that is cut short, by a run that was killed while it wrote, is left out; `cut` says so.
    """

    def __init__(self, path: Path, *, strict: bool = True) -> None:
        self.path = path
        self.strict = strict
        self.differences: list[str] = []
        self.exchanges, self.cut = _read(path)
        # As the client had it: known from the start, or from an answer on.
        self.tools = not self.exchanges or bool(self.exchanges[0].tools.names)
        self._next = 0
        self._before: tuple[Message, ...] = ()
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        """How many recorded exchanges have not been asked for."""
        return len(self.exchanges) - self._next

    def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
        with self._lock:
            return self._ask(messages, tools)

    def _ask(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        if not self.left:
            n = len(self.exchanges)
            count = f"{n} exchange{'' if n == 1 else 's'}"
            raise LlmError.of("CP5320", path=self.path, count=count)
        row = self.exchanges[self._next]
        recorded = (*self._before[: row.kept], *map(_message, row.added))
        different = _difference(recorded, messages, row.tools, _tools_row(tools))
        if different:
            where = f"exchange {self._next + 1}, {different}"
            if self.strict:
                raise LlmError.of("CP5319", where=where)
            self.differences.append(where)
        self._next += 1
        self._before = recorded
        self.tools = self.tools and not row.refused_tools
        reply = _reply(row.reply) if row.reply else None
        if row.error:
            error = row.error
            raise LlmError(error.code, error.message, error.fatal, given=error.given, reply=reply)
        assert reply is not None  # _read has seen to it
        return reply


def _read(path: Path) -> tuple[tuple[Exchange, ...], bool]:
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise LlmError.of("CP5321", path=path, reason=error.strerror or error) from None
    except UnicodeDecodeError as error:
        raise LlmError.of("CP5321", path=path, reason=f"byte {error.start} is not UTF-8") from None
    lines = text.split("\n")
    cut = bool(lines.pop())  # what follows the last newline
    found: list[Exchange] = []
    length = 0
    for number, line in enumerate(lines, 1):
        try:
            if number == 1:
                Head.model_validate_json(line)
                continue
            row = Exchange.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            reason = f"line {number}{', ' + place if place else ''}: {first['msg']}"
            raise LlmError.of("CP5321", path=path, reason=reason) from None
        if not 0 <= row.kept <= length or (row.reply is None and row.error is None):
            raise LlmError.of("CP5321", path=path, reason=f"line {number} does not follow from those before")
        length = row.kept + len(row.added)
        found.append(row)
    if not lines:
        raise LlmError.of("CP5321", path=path, reason="it has no whole line")
    return tuple(found), cut


def _difference(
    recorded: Sequence[Message], asked: Sequence[Message], tools: ToolsRow, asked_tools: ToolsRow
) -> str:
    """Where the two requests differ first, in words, or ""."""
    for number, (was, now) in enumerate(zip(recorded, asked, strict=False), 1):
        place = f"message {number} ({was.role})"
        if was.role != now.role:
            return f"{place}: now of role {now.role}"
        if text := _line(was.content, now.content):
            return f"{place}, {text}"
        if len(was.calls) != len(now.calls):
            return f"{place}: {len(was.calls)} tool calls recorded, now {len(now.calls)}"
        for call, again in zip(was.calls, now.calls, strict=True):
            if (call.id, call.name) != (again.id, again.name):
                return f"{place}: call {call.id} of {call.name} recorded, now {again.id} of {again.name}"
            if text := _line(call.arguments, again.arguments):
                return f"{place}, call {call.id}, {text}"
        if was.call_id != now.call_id:
            return f"{place}: answers call {was.call_id}, now {now.call_id}"
    if len(recorded) != len(asked):
        return f"message {min(len(recorded), len(asked)) + 1}: {len(recorded)} recorded, now {len(asked)}"
    if tools.names != asked_tools.names:
        names = [", ".join(row.names) or "none" for row in (tools, asked_tools)]
        return f"tools: {names[0]} recorded, now {names[1]}"
    return "" if tools == asked_tools else "tools: the same names, described in another way"


def _line(was: str, now: str) -> str:
    """The first line in which two texts differ once normalised, or ""."""
    left, right = normalised(was).split("\n"), normalised(now).split("\n")
    for number, (a, b) in enumerate(zip(left, right, strict=False), 1):
        if a != b:
            return f"line {number}: {a[:_SHOWN]!r} recorded, now {b[:_SHOWN]!r}"
    if len(left) != len(right):
        return f"line {min(len(left), len(right)) + 1}: {len(left)} lines recorded, now {len(right)}"
    return ""


def _common(before: Sequence[Message], now: Sequence[Message]) -> int:
    count = 0
    while count < min(len(before), len(now)) and before[count] == now[count]:
        count += 1
    return count


def _tools_row(tools: Sequence[Tool]) -> ToolsRow:
    if not tools:
        return ToolsRow()
    told = [[t.name, t.description, dict(t.parameters)] for t in tools]
    text = json.dumps(told, sort_keys=True, ensure_ascii=False)
    return ToolsRow(
        names=tuple(t.name for t in tools), sha256=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    )


def _call_row(call: ToolCall) -> CallRow:
    return CallRow(id=call.id, name=call.name, arguments=call.arguments)


def _message_row(message: Message) -> MessageRow:
    calls = tuple(map(_call_row, message.calls))
    return MessageRow(role=message.role, content=message.content, calls=calls, call_id=message.call_id)


def _reply_row(reply: Reply) -> ReplyRow:
    usage = UsageRow(prompt=reply.usage.prompt, answer=reply.usage.answer, estimated=reply.usage.estimated)
    return ReplyRow(
        content=reply.content,
        calls=tuple(map(_call_row, reply.calls)),
        usage=usage,
        finish=reply.finish,
        seconds=round(reply.seconds, 3),
        model=reply.model,
    )


def _call(row: CallRow) -> ToolCall:
    return ToolCall(row.id, row.name, row.arguments)


def _message(row: MessageRow) -> Message:
    return Message(row.role, row.content, tuple(map(_call, row.calls)), row.call_id)


def _reply(row: ReplyRow) -> Reply:
    usage = Usage(row.usage.prompt, row.usage.answer, row.usage.estimated)
    return Reply(row.content, tuple(map(_call, row.calls)), usage, row.finish, row.seconds, row.model)
