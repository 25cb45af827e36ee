"""A client of any OpenAI-compatible endpoint, hosted or local, by the official SDK.

Answers are streamed where the endpoint can: a gateway that ends silent connections after a minute or two
then lets an answer of ten minutes through, and a stream that was cut can be told from one that ended. How a
request is sent and how often it is tried again is the SDK's affair; the body is read here, since the SDK
limits neither its size nor its whole time.
"""

from __future__ import annotations

import importlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from translator.llm import faults
from translator.llm.budget import estimate, estimate_text
from translator.llm.messages import Client, LlmError, Message, Problem, Reply, Role, Tool, ToolCall, Usage
from translator.llm.redact import Redactor, secrets_of, shown_url
from translator.llm.request import body_of
from translator.settings import endpoint_problem

if TYPE_CHECKING:
    from translator.llm.wire import Answer

__all__ = [
    "Client",
    "LlmError",
    "Message",
    "OpenAIClient",
    "Problem",
    "Reply",
    "Role",
    "Tool",
    "ToolCall",
    "Usage",
]

KEY = "OPENAI_API_KEY"
HOSTED = "https://api.openai.com/v1"
UNUSED = "unused"  # the SDK demands a key; a local endpoint takes any
RETRIES = 2  # the SDK's own number
MOST_BYTES = 16 * 2**20  # of one answer; the longest answers of models are below 1 MiB
_CONNECT = 10.0  # seconds to a connection
_LISTED = 8  # models named where the asked one is not there
_END = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\]")


class EndpointSettings(Protocol):
    """What a client needs of Settings."""

    @property
    def model(self) -> str: ...
    @property
    def base_url(self) -> str: ...
    @property
    def request_timeout(self) -> float: ...


class OpenAIClient:
    """Asks one model of one endpoint. Threads may share it.

    `tools` and `streams` turn False once the endpoint has answered without what it had rejected. `redact`
    hides the key and what else is secret in the endpoint's address; every error and reply went through it.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        environment: Mapping[str, str] | None = None,
        max_retries: int = RETRIES,
        streams: bool = True,
    ) -> None:
        """Sends nothing. Raises LlmError for an address that is none (CP5316), and where a key is missing
        (CP5301) or can't be sent (CP5302)."""
        environment = os.environ if environment is None else environment
        key = environment.get(KEY, "").strip()
        base = settings.base_url or environment.get("OPENAI_BASE_URL", "").strip()
        if problem := endpoint_problem(base or HOSTED):
            raise LlmError.of("CP5316", endpoint="the base URL", reason=problem)
        self.model = settings.model
        self.tools = True
        self.streams = streams
        self.redact = Redactor(secrets_of(key, base or HOSTED))
        self.endpoint = shown_url(base or HOSTED, self.redact)
        self._shown = self.redact(self.model)
        self._timeout = settings.request_timeout
        self._retries = max_retries
        self._key = bool(key)
        if not key and not base:
            raise LlmError.of("CP5301", endpoint=self.endpoint)
        if not (key.isascii() and key.isprintable()):
            raise LlmError.of(
                "CP5302", endpoint=self.endpoint, reason="it has characters that no HTTP header can carry"
            )
        self._connect(key or UNUSED, base or HOSTED)

    def _connect(self, key: str, base: str) -> None:
        import openai  # takes most of a second: only for who asks a model

        parts = urlsplit(base)
        timeout = openai.Timeout(self._timeout, connect=min(_CONNECT, self._timeout))
        self._openai = openai
        # The SDK's HTTP library is httpx or httpx2, by its version, and errors of reading a body are its own.
        self._http: Any = importlib.import_module(
            openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]
        )
        self._sdk = openai.OpenAI(
            api_key=key,
            base_url=urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")),
            default_query=dict(parse_qsl(parts.query)),  # in the address it would end up before the path
            timeout=timeout,
            max_retries=self._retries,
            # A redirect would send the prompt, and to the same host the key, to where nobody asked for.
            http_client=openai.DefaultHttpxClient(timeout=timeout, follow_redirects=False),
        )

    def close(self) -> None:
        """Drops the connections. The client can't be used any more."""
        self._sdk.close()

    def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
        """One whole answer. Raises LlmError with one of CP5301 to CP5318."""
        began = time.monotonic()
        with_tools, streamed = bool(tools) and self.tools, self.streams
        while True:
            sent = tuple(tools) if with_tools else ()
            try:
                answer = self._answer(messages, sent, streamed)
            except faults.LacksError as lacks:
                if lacks.what == "tools":
                    with_tools = False
                else:
                    streamed = False
                continue
            # Only now is it known that this was what the endpoint lacks.
            self.tools = self.tools and (with_tools or not tools)
            self.streams = self.streams and streamed
            return self._reply(answer, messages, sent, time.monotonic() - began)

    def _answer(self, messages: Sequence[Message], tools: Sequence[Tool], streamed: bool) -> Answer:
        from translator.llm import wire

        asked = faults.Asked(
            self.endpoint, self.model, self.redact, self._key, bool(tools), streamed, self._models
        )
        request = body_of(self.model, messages, tools, streamed)
        for count in range(1, self._retries + 2):
            try:
                return wire.read(self._body(request, asked))
            except wire.UnusableError as error:
                reason = faults.plain(error.reason, self.redact)
                if error.kind == "error":
                    raise faults.of_status(error.status, error.reason, asked, also=error.also) from None
                if error.kind == "malformed":
                    raise LlmError.of("CP5311", endpoint=self.endpoint, reason=reason) from None
                if count > self._retries:  # the SDK tries again what failed before its body; this is the rest
                    tries = faults.tries(count)
                    raise LlmError.of("CP5309", endpoint=self.endpoint, tries=tries, reason=reason) from None
        raise AssertionError("no way past the last try")

    def _body(self, request: dict[str, Any], asked: faults.Asked) -> bytes:
        """The bytes of an answer of status 200. Raises LlmError, LacksError, and UnusableError of a cut."""
        from translator.llm.wire import UnusableError, error_words

        openai, began = self._openai, time.monotonic()
        try:
            with self._sdk.chat.completions.with_streaming_response.create(**request) as raw:
                # The time of a try that the SDK gave up is not this one's.
                start = time.monotonic() if raw.retries_taken else began
                return self._read(raw, start + self._timeout)
        except openai.APIStatusError as error:
            text, also = error_words(error.response.text)
            headers, count = error.response.headers, _count(error.request.headers)
            raise faults.of_status(
                error.status_code, text, asked, also=also, count=count, headers=headers
            ) from None
        except openai.APITimeoutError as error:
            if isinstance(error.__cause__, self._http.ConnectTimeout):
                reason = f"none within {min(_CONNECT, self._timeout):g} s"
                raise LlmError.of("CP5304", endpoint=self.endpoint, reason=reason) from None
            raise self._late(f"nothing within {self._timeout:g} s, {_tried(error.request.headers)}") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__
            reason = faults.plain(str(cause or error), self.redact)
            http = self._http
            if isinstance(cause, (http.ConnectError, http.ProxyError, http.UnsupportedProtocol)):
                raise LlmError.of("CP5304", endpoint=self.endpoint, reason=reason) from None
            tries = faults.tries(_count(error.request.headers))
            raise LlmError.of("CP5309", endpoint=self.endpoint, tries=tries, reason=reason) from None
        except self._http.TimeoutException:
            raise self._late(f"silent for {self._timeout:g} s in the middle of it") from None
        except self._http.TransportError as error:
            raise UnusableError("cut", str(error) or type(error).__name__) from None
        except (self._http.HTTPError, openai.OpenAIError) as error:  # a body that can't be unpacked
            reason = faults.plain(str(error), self.redact)
            raise LlmError.of("CP5311", endpoint=self.endpoint, reason=reason) from None

    def _late(self, reason: str) -> LlmError:
        return LlmError.of("CP5307", endpoint=self.endpoint, reason=reason)

    def _read(self, raw: Any, deadline: float, most: int | None = None) -> bytes:
        """The whole body: at most `most` bytes, before `deadline` (of the monotonic clock)."""
        most = MOST_BYTES if most is None else most
        read = bytearray()
        for chunk in raw.iter_bytes():
            read += chunk
            if len(read) > most:
                raise LlmError.of("CP5318", endpoint=self.endpoint, most=f"{most / 2**20:g} MiB")
            if _END.search(read, max(0, len(read) - len(chunk) - 16)):
                break  # some endpoints keep the connection open after the end
            if time.monotonic() > deadline:
                raise self._late(f"{len(read)} bytes of it in {self._timeout:g} s")
        return bytes(read)

    def _models(self) -> str:
        """Which models the endpoint has, nearest names first, in words for a message."""
        from translator.llm.wire import model_names

        timeout = min(_CONNECT, self._timeout)
        try:
            sdk = self._sdk.with_options(timeout=timeout, max_retries=0)
            with sdk.models.with_streaming_response.list() as raw:
                names = model_names(self._read(raw, time.monotonic() + timeout, 2**20))
        except (self._openai.OpenAIError, self._http.HTTPError, LlmError):
            names = []
        if not names:
            return "it does not say which it has"
        near = get_close_matches(self.model, names, n=3, cutoff=0.7)
        shown = list(dict.fromkeys([*near, *names]))
        more = f" and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
        return "it has " + faults.plain(", ".join(n[:80] for n in shown[:_LISTED]), self.redact) + more

    def _reply(
        self, answer: Answer, messages: Sequence[Message], tools: Sequence[Tool], seconds: float
    ) -> Reply:
        hide = self.redact.answer
        content = hide(answer.content)
        calls = tuple(ToolCall(hide(c.id), hide(c.name), hide(c.arguments)) for c in answer.calls)
        counted = answer.prompt is not None and answer.answer is not None
        usage = Usage(
            answer.prompt if answer.prompt is not None else estimate(messages, tools),
            answer.answer
            if answer.answer is not None
            else estimate_text(content, *(c.arguments for c in calls)),
            not counted,
        )
        reply = Reply(content, calls, usage, answer.finish, seconds, hide(answer.model) or self.model)
        if answer.finish == "length":
            raise LlmError.of("CP5313", model=self._shown, tokens=usage.answer, reply=reply)
        if answer.refusal or answer.finish == "content_filter":
            reason = faults.plain(answer.refusal or "its filter stopped the answer", self.redact)
            raise LlmError.of("CP5314", model=self._shown, reason=reason, reply=reply)
        if answer.finish == "error":
            reason = "it ended the answer with an error"
            raise LlmError.of("CP5308", endpoint=self.endpoint, tries="1 try", reason=reason, reply=reply)
        if not content.strip() and not calls:
            reason = "nothing but reasoning" if answer.thought else "no text and no tool call"
            if not answer.choices:
                reason = "no choices"
            raise LlmError.of("CP5310", model=self._shown, reason=reason, reply=reply)
        return reply


def _count(headers: Mapping[str, str]) -> int:
    """How many times the SDK sent a request, by the header that it puts into each."""
    text = headers.get("x-stainless-retry-count", "0")
    return int(text) + 1 if text.isdecimal() else 1


def _tried(headers: Mapping[str, str]) -> str:
    return f"in each of {n} tries" if (n := _count(headers)) > 1 else "in one try"
