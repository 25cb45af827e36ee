"""What is said to a model and what comes back: the types, the errors and the protocol of a client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from translator.diag.codes import CODES
from translator.diag.diagnostic import Diagnostic

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for. `arguments` is JSON text as received, perhaps broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `calls` is for the assistant's; `call_id` says which call a tool's message answers."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them; `estimated` where it did not, from the length of the texts."""

    prompt: int = 0
    answer: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. `finish` ("stop", "tool_calls") and `model` are as the endpoint says; `seconds` is the
    time of all tries together."""

    content: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    finish: str
    seconds: float
    model: str


class LlmError(Exception):
    """A request that got no usable answer.

    `code` is CP53xx; `fatal` says that no later request can succeed. `reply` is what was received where an
    answer came but can't be used (cut at its longest, empty, declined): its tokens were paid for.
    """

    def __init__(
        self,
        code: str,
        message: str,
        fatal: bool = False,
        *,
        given: tuple[tuple[str, str], ...] = (),
        reply: Reply | None = None,
    ) -> None:
        super().__init__(code, message, fatal)
        self.code = code
        self.message = message
        self.fatal = fatal
        self.given = given
        self.reply = reply

    @classmethod
    def of(cls, code: str, *, reply: Reply | None = None, **args: object) -> LlmError:
        """The error of `code`: its message from the table of codes, which also says whether it is fatal."""
        given = tuple((name, str(value)) for name, value in sorted(args.items()))
        row = CODES[code]
        return cls(code, row.message.format(**dict(given)), row.severity == "error", given=given, reply=reply)

    def diagnostic(self, hint: str = "") -> Diagnostic:
        """The same as a finding, for a Sink. Only of an error that has its arguments, as `of` makes them."""
        return Diagnostic(self.code, args=self.given, hint=hint)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Problem:
    """An answer that can't be used: `message` for people, `say` for the model, so that it can mend it."""

    code: str
    message: str
    say: str

    @classmethod
    def of(cls, code: str, say: str, **args: object) -> Problem:
        return cls(code, CODES[code].message.format(**args), say)


class Client(Protocol):
    """Whoever answers: an endpoint, a transcript, a test."""

    def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
        """One answer. Raises LlmError."""
        ...
