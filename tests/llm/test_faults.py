"""Every fault of an endpoint ends in its own coded message, or in an answer after a retry."""

# ruff: noqa: E501  (a row of a table is a line)

from __future__ import annotations

import functools
import json
import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import openai
import pytest

from tests.llm import endpoint as e
from translator.llm.client import LlmError, Message, OpenAIClient, Tool, ToolCall, Usage
from translator.llm.faults import meaning

KEY = "sk-proj-0123456789abcdefghijklmnop"
ASKED = [Message("system", "You port kernels."), Message("user", "Port this.")]
TOOL = Tool("look", "Looks.", {"type": "object", "properties": {"name": {"type": "string"}}})
SHORT = 0.3  # seconds of a request's timeout, where one is to pass


@dataclass(frozen=True, slots=True)
class Given:
    model: str = "m-1"
    base_url: str = ""
    request_timeout: float = 10.0


def client(
    url: str, *, key: str = KEY, timeout: float = 10.0, model: str = "m-1", **more: object
) -> OpenAIClient:
    environment = {"OPENAI_API_KEY": key} if key else {}
    return OpenAIClient(Given(model, url, timeout), environment=environment, **more)  # type: ignore[arg-type]


_CONTEXT = functools.cache(ssl.create_default_context)  # reading all certificates takes most of each test


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """What the SDK would have slept between tries."""
    slept: list[float] = []
    monkeypatch.setattr(openai._base_client, "time", SimpleNamespace(sleep=slept.append, time=time.time))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(ssl, "create_default_context", _CONTEXT)
    return slept


def failure(
    script: Sequence[e.Behaviour], tools: Sequence[Tool] = (), **more: object
) -> tuple[LlmError, e.Endpoint]:
    with e.Endpoint(script) as end:
        asked = client(end.url, **more)  # type: ignore[arg-type]
        try:
            with pytest.raises(LlmError) as raised:
                asked.ask(ASKED, tools)
        finally:
            asked.close()
    return raised.value, end


HTML = "<html><head><title>502 Bad\nGateway</title><style>p{}</style></head><body>nginx</body></html>"
STREAM = e.events(e.chunks({"content": "hello"}))
CUT = e.events(e.chunks({"content": "hello"})[:3], end=False)
WHOLE = json.dumps(e.completion({"content": "hello"}))

# name, script, timeout, requests, code, fatal, words of the message
ROWS: list[tuple[str, list[e.Behaviour], float, int, str, bool, str]] = [
    ("wrong key", [e.status(401, "Incorrect API key")], 10, 1, "CP5302", True, "Incorrect API key"),
    ("forbidden", [e.status(403, "no access")], 10, 1, "CP5302", True, "no access"),
    ("no such path", [e.status(404, {"detail": "Not Found"})], 10, 1, "CP5316", True, "end in /v1"),
    ("HTML 404", [e.body(HTML, "text/html", 404)], 10, 1, "CP5316", True, "HTTP 404 (502 Bad Gateway nginx)"),
    ("rate limit", [e.status(429, "slow down")] * 3, 10, 3, "CP5305", False, "after 3 tries still: slow down"),
    ("rate limit, long", [e.status(429, "no", retry_after="500")], 10, 1, "CP5305", False, "1 try still: no; it asks to wait 500 s"),
    ("quota", [e.status(429, {"error": {"message": "m", "code": "insufficient_quota"}})] * 3, 10, 3, "CP5306", True, "left for this key: m"),
    ("402", [e.status(402, "pay")], 10, 1, "CP5306", True, "pay"),
    ("500", [e.status(500, "oops")] * 3, 10, 3, "CP5308", False, "after 3 tries still: HTTP 500 (oops)"),
    ("503 HTML", [e.body(HTML, "text/html", 503)] * 3, 10, 3, "CP5308", False, "HTTP 503 (502 Bad Gateway nginx)"),
    ("hang", [e.hang] * 3, SHORT, 3, "CP5307", False, "nothing within 0.3 s, in each of 3 tries"),
    ("hang in the body", [e.hang_in_body], SHORT, 1, "CP5307", False, "silent for 0.3 s in the middle"),
    ("slow drip", [e.drip(5)], SHORT, 1, "CP5307", False, "bytes of it in 0.3 s"),
    ("408", [e.status(408, "late")] * 3, 10, 3, "CP5307", False, "HTTP 408 (late)"),
    ("dropped", [e.drop] * 3, 10, 3, "CP5309", False, "after 3 tries still"),
    ("reset in the body", [e.reset_in_body] * 3, 10, 3, "CP5309", False, "after 3 tries still"),
    ("short body", [e.short_body] * 3, 10, 3, "CP5309", False, "after 3 tries still"),
    ("cut stream", [e.sse(CUT)] * 3, 10, 3, "CP5309", False, "the stream stops after event 3"),
    ("stream cut in an event", [e.sse(STREAM[:90])] * 3, 10, 3, "CP5309", False, "not JSON"),
    ("JSON cut", [e.body(WHOLE[:50])] * 3, 10, 3, "CP5309", False, "not JSON"),
    ("no content", [e.says({"content": None})], 10, 1, "CP5310", False, "no text and no tool call"),
    ("blank content", [e.ok(" \n")], 10, 1, "CP5310", False, "no text and no tool call"),
    ("only reasoning", [e.says({"content": None, "reasoning_content": "hm"})], 10, 1, "CP5310", False, "nothing but reasoning"),
    ("no choices", [e.body(json.dumps({"choices": [], "usage": e.COUNTS}))], 10, 1, "CP5310", False, "no choices"),
    ("malformed JSON", [e.body('{"choices": [}')], 10, 1, "CP5311", False, "not JSON"),
    ("malformed event", [e.sse(b'data: {"choices": [}\n\n' + STREAM)], 10, 1, "CP5311", False, "not JSON"),
    ("JSON of another shape", [e.body('{"answer": 1}')], 10, 1, "CP5311", False, "no `choices`"),
    ("a list", [e.body("[1]")], 10, 1, "CP5311", False, "a JSON list"),
    ("wrong types", [e.body('{"choices": [{"message": {"content": 3}}]}')], 10, 1, "CP5311", False, "`choices.0.message.content"),
    ("deep JSON", [e.body('{"a":' * 100_000)], 10, 1, "CP5311", False, "not JSON"),
    ("an empty body", [e.body("")], 10, 1, "CP5311", False, "nothing at all"),
    ("HTML 200", [e.body(HTML, "text/html")], 10, 1, "CP5311", False, "an HTML page (502 Bad Gateway)"),
    ("not UTF-8", [e.body(WHOLE.replace("hello", "h@llo").encode().replace(b"@", b"\xff"))], 10, 1, "CP5311", False, "is not UTF-8"),
    ("a call of no tool", [e.calls(("", "{}"))], 10, 1, "CP5311", False, "tool call 1 names no tool"),
    ("cut at its longest", [e.ok("import", finish="length")], 10, 1, "CP5313", False, "7 tokens"),
    ("filtered", [e.ok("I", finish="content_filter")], 10, 1, "CP5314", False, "filter"),
    ("refusal", [e.says({"content": None, "refusal": "I won't."})], 10, 1, "CP5314", False, "I won't."),
    ("filtered prompt", [e.status(400, {"error": {"message": "no", "code": "content_filter"}})], 10, 1, "CP5314", False, "answer: no"),
    ("ended by an error", [e.ok("I", finish="error")], 10, 1, "CP5308", False, "error"),
    ("error in a body", [e.body('{"error": {"message": "upstream", "code": 502}}')], 10, 1, "CP5308", False, "HTTP 502 (upstream)"),
    ("error in a stream", [e.sse(CUT + b'data: {"error": {"message": "no memory"}}\n\n')], 10, 1, "CP5308", False, "no memory"),
    ("rate in a stream", [e.sse(b'data: {"error": {"message": "x", "code": "429"}}\n\n')], 10, 1, "CP5305", False, "x"),
    ("bad request", [e.status(400, "temperature must be 1")], 10, 1, "CP5315", False, "(HTTP 400): temperature must be 1"),
    ("bad schema", [e.status(400, "Invalid schema for function 'look'")], 10, 1, "CP5315", False, "Invalid schema"),
    ("not allowed", [e.status(405, "no")], 10, 1, "CP5316", True, "HTTP 405"),
    ("redirect", [e.redirect("http://other.example/v1?token=abc")], 10, 1, "CP5317", True, "redirects to http://other.example,"),
    ("50 MB", [e.huge(50 * 2**20)], 10, 1, "CP5318", False, "larger than 16 MiB"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "script", "timeout", "requests", "code", "fatal", "words"), ROWS, ids=[r[0] for r in ROWS]
)
def test_a_fault_has_its_code(
    name: str, script: list[e.Behaviour], timeout: float, requests: int, code: str, fatal: bool, words: str
) -> None:
    error, end = failure(script, timeout=timeout)
    assert (error.code, error.fatal, len(end.seen)) == (code, fatal, requests), error
    assert words in error.message
    assert KEY not in str(error)
    assert error.diagnostic().message == error.message


CONTEXT = {
    "OpenAI": (400, {"error": {"message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", "code": "context_length_exceeded"}}),
    "vLLM": (400, {"object": "error", "message": "The decoder prompt (length 5000 tokens) is longer than the maximum model length of 4096.", "code": 400}),
    "vLLM, later": (400, "You passed 5000 input tokens and requested 0 output tokens. However, the model's context length is only 4096 tokens"),
    "llama.cpp": (400, {"error": {"code": 400, "message": "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error"}}),
    "llama.cpp, earlier": (500, "the request exceeds the available context size. try increasing the context size"),
    "Anthropic": (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
    "TGI": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"),
    "Gemini": (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    "SGLang": (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    "Mistral": (400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
    "too large": (413, "Payload Too Large"),
    "over the rate by itself": (429, "Request too large for m-1 on tokens per min (TPM): Limit 30000, Requested 40000"),
}  # fmt: skip


@pytest.mark.parametrize("dialect", CONTEXT)
def test_a_prompt_too_long_is_told_in_every_dialect(dialect: str) -> None:
    code, body = CONTEXT[dialect]
    error, _ = failure([e.status(code, body)] * 3, tools=[TOOL])
    assert (error.code, error.fatal) == ("CP5312", False), error
    assert "tokens" in error.message or "large" in error.message.lower() or "size" in error.message


NO_MODEL = {
    "OpenAI": (404, {"error": {"message": "The model `m-1` does not exist or you do not have access to it.", "code": "model_not_found"}}),
    "Ollama": (404, 'model "m-1" not found, try pulling it first'),
    "OpenRouter": (400, "m-1 is not a valid model ID"),
    "Mistral": (400, {"object": "error", "message": "Invalid model: m-1", "type": "invalid_model"}),
    "DeepSeek": (400, "Model Not Exist"),
    "Anthropic": (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: m-1"}}),
}  # fmt: skip


@pytest.mark.parametrize("dialect", NO_MODEL)
def test_a_model_that_is_not_there_names_those_that_are(dialect: str) -> None:
    code, body = NO_MODEL[dialect]
    error, end = failure([e.status(code, body)], tools=[TOOL])
    assert (error.code, error.fatal, len(end.gets)) == ("CP5303", True, 1), error
    assert error.message == f"{end_url(end)} has no model m-1; it has m-large, m-small"


def end_url(end: e.Endpoint) -> str:
    return f"http://127.0.0.1:{end.server.server_address[1]}/v1"


def test_the_nearest_models_come_first_and_a_list_is_cut() -> None:
    models = {"data": [{"id": f"a-{n:02}"} for n in range(20)] + [{"id": "mm-1"}, {"id": None}, 3]}
    with e.Endpoint([e.status(404, "model m-1 not found")] * 2, models=models) as end:
        with pytest.raises(LlmError, match="it does not say which it has"):
            client(end.url).ask(ASKED)  # one row that is no model spoils the list
        models["data"].pop()
        with pytest.raises(LlmError) as raised:
            client(end.url).ask(ASKED)
    assert raised.value.message.endswith("it has mm-1, a-00, a-01, a-02, a-03, a-04, a-05, a-06 and 13 more")


# name, script, requests, text of the answer
MENDED: list[tuple[str, list[e.Behaviour], int]] = [
    ("at once", [e.ok()], 1),
    ("after a rate limit", [e.status(429, "slow", retry_after="7"), e.ok()], 2),
    ("after a failing server", [e.status(500, "x"), e.status(503, "y"), e.ok()], 3),
    ("after a dropped connection", [e.drop, e.ok()], 2),
    ("after a reset in the body", [e.reset_in_body, e.ok()], 2),
    ("after a short body", [e.short_body, e.short_body, e.ok()], 3),
    ("after a cut stream", [e.sse(CUT), e.ok()], 2),
    ("without a stream", [e.status(400, "stream is not supported"), e.ok()], 2),
    ("as JSON though a stream was asked for", [e.body(WHOLE)], 1),
    ("as a stream that stays open", [e.open_after_end], 1),
    ("as a stream without blank lines", [e.sse(STREAM.replace(b"\n\n", b"\n"))], 1),
    ("as a stream with windows lines and comments", [e.sse(b": hi\r\n\r\n" + STREAM.replace(b"\n", b"\r\n"))], 1),
    ("as a stream without [DONE]", [e.sse(STREAM.removesuffix(b"data: [DONE]\n\n"))], 1),
    ("as parts", [e.body(json.dumps(e.completion({"content": [{"type": "text", "text": "hel"}, {"text": "lo"}]})))], 1),
    ("after a byte order mark", [e.body(b"\xef\xbb\xbf" + WHOLE.encode())], 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "script", "requests"), MENDED, ids=[m[0] for m in MENDED])
def test_an_answer_comes(name: str, script: list[e.Behaviour], requests: int, pauses: list[float]) -> None:
    with e.Endpoint(script) as end:
        reply = client(end.url).ask(ASKED)
    assert (reply.content, reply.calls, reply.finish, reply.model) == ("hello", (), "stop", "m-1")
    assert reply.usage == Usage(11, 7)
    assert len(end.seen) == requests
    if name == "after a rate limit":
        assert pauses == [7.0]


def test_a_hang_is_waited_for_and_asked_again() -> None:
    with e.Endpoint([e.hang, e.ok()]) as end:
        assert client(end.url, timeout=SHORT).ask(ASKED).content == "hello"
    assert len(end.seen) == 2


@pytest.mark.parametrize("streams", [True, False])
def test_tool_calls_come_whole_and_are_sent_back(streams: bool) -> None:
    broken = '{"name": "a",}'
    with e.Endpoint([e.calls(("look", '{"name": "cute.copy"}'), ("look", broken)), e.ok()]) as end:
        asked = client(end.url, streams=streams)
        reply = asked.ask(ASKED, [TOOL])
        results = [Message("tool", "found", call_id=c.id) for c in reply.calls]
        asked.ask([*ASKED, Message("assistant", "", reply.calls), *results], [TOOL])
    assert reply.calls == (ToolCall("id0", "look", '{"name": "cute.copy"}'), ToolCall("id1", "look", broken))
    assert reply.finish == "tool_calls"
    assert end.seen[0].body["tools"][0]["function"]["parameters"] == dict(TOOL.parameters)
    assert ("stream" in end.seen[0].body) is streams
    history = end.seen[1].body["messages"][2:]
    assert [m.get("tool_call_id") for m in history] == [None, "id0", "id1"]
    sent = [c["function"]["arguments"] for c in history[0]["tool_calls"]]
    assert [json.loads(s) for s in sent] == [{"name": "cute.copy"}, {"broken": broken}]


def test_calls_that_share_an_index_are_told_apart_by_their_id() -> None:
    rows = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": i, "function": {"name": "look", "arguments": i}}]}}]}
        for i in ("a", "b")
    ]  # fmt: skip
    rows.append(
        {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": "c"}}]}, "finish_reason": "stop"}]}
    )
    with e.Endpoint([e.sse(e.events(rows))]) as end:
        reply = client(end.url).ask(ASKED, [TOOL])
    assert reply.calls == (ToolCall("a", "look", "a"), ToolCall("b", "look", "bc"))


NO_TOOLS = {
    "vLLM": (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    "Ollama": (400, "registry/library/m-1 does not support tools"),
    "OpenRouter": (404, "No endpoints found that support tool use."),
    "a strict schema": (
        422,
        {"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]},
    ),
    "functions": (400, "Unrecognized request argument supplied: functions"),
}


@pytest.mark.parametrize("dialect", NO_TOOLS)
def test_an_endpoint_without_tools_is_remembered(dialect: str) -> None:
    with e.Endpoint([e.status(*NO_TOOLS[dialect]), e.ok(), e.ok()]) as end:
        asked = client(end.url)
        assert asked.tools
        assert asked.ask(ASKED, [TOOL]).content == "hello"
        assert not asked.tools
        call = ToolCall("id0", "look", '{"name": "x"}')
        asked.ask(
            [*ASKED, Message("assistant", "so:", (call,)), Message("tool", "found", call_id="id0")], [TOOL]
        )
    assert ["tools" in s.body for s in end.seen] == [True, False, False]
    assert end.seen[2].body["messages"][2:] == [
        {"role": "assistant", "content": 'so:\n\nlook({"name": "x"})'},
        {"role": "user", "content": "Result of look:\nfound"},
    ]


def test_llama_cpp_says_with_a_500_that_it_has_no_tools() -> None:
    with e.Endpoint([e.status(500, "tools param requires --jinja flag")] * 3 + [e.ok()]) as end:
        asked = client(end.url)
        assert asked.ask(ASKED, [TOOL]).content == "hello"
    assert not asked.tools


def test_tools_are_not_given_up_for_another_fault() -> None:
    error, _ = failure([e.status(400, "bad function"), e.status(400, "bad anyhow")], tools=[TOOL])
    assert error.code == "CP5315"
    with e.Endpoint([e.status(400, "bad function"), e.status(400, "bad anyhow"), e.ok()]) as end:
        asked = client(end.url)
        with pytest.raises(LlmError):
            asked.ask(ASKED, [TOOL])
        assert asked.tools
        asked.ask(ASKED, [TOOL])
    assert "tools" in end.seen[2].body


def test_an_endpoint_that_does_not_stream_is_remembered_and_tools_are_kept() -> None:
    with e.Endpoint([e.status(422, "stream_options: extra"), e.calls(("look", "{}")), e.ok()]) as end:
        asked = client(end.url)
        assert asked.ask(ASKED, [TOOL]).calls == (ToolCall("id0", "look", "{}"),)
        asked.ask(ASKED, [TOOL])
    assert ["stream" in s.body for s in end.seen] == [True, False, False]
    assert (asked.tools, asked.streams) == (True, False)


def test_tokens_of_an_unusable_answer_are_known() -> None:
    error, _ = failure([e.ok("import torch", finish="length")])
    assert error.reply is not None
    assert (error.reply.content, error.reply.usage) == ("import torch", Usage(11, 7))


def test_tokens_that_are_not_counted_are_estimated_and_said_so() -> None:
    with e.Endpoint([e.body(json.dumps({"choices": [{"message": {"content": "x" * 40}}]}))]) as end:
        reply = client(end.url, streams=False).ask(ASKED)
    letters = sum(len(m.content) for m in ASKED)
    assert reply.usage == Usage(-(-letters // 4), 10, estimated=True)


def test_a_local_endpoint_needs_no_key() -> None:
    with e.Endpoint([e.ok(), e.status(401, "no key")]) as end:
        asked = client(end.url, key="")
        asked.ask(ASKED)
        with pytest.raises(LlmError) as raised:
            asked.ask(ASKED)
    assert end.seen[0].headers["authorization"] == "Bearer unused"
    assert (raised.value.code, raised.value.fatal) == ("CP5301", True)


def test_the_hosted_endpoint_needs_a_key() -> None:
    with pytest.raises(LlmError) as raised:
        client("", key="  ")
    assert raised.value.message == "https://api.openai.com/v1 needs a key, and OPENAI_API_KEY is not set"


def test_the_address_may_come_from_the_environment() -> None:
    with e.Endpoint([e.ok()]) as end:
        OpenAIClient(Given(), environment={"OPENAI_BASE_URL": end.url}).ask(ASKED)
    with pytest.raises(LlmError) as raised:
        OpenAIClient(Given(), environment={"OPENAI_BASE_URL": "localhost:80"})
    assert (raised.value.code, raised.value.fatal) == ("CP5316", True)


def test_nobody_listens() -> None:
    with e.Endpoint([]) as end:
        url = f"http://me:pass-word-1@{end.netloc}/v1?sig=secret-value"
    with pytest.raises(LlmError) as raised:
        client(url).ask(ASKED)
    error = raised.value
    assert (error.code, error.fatal) == ("CP5304", True)
    assert f"no connection to http://{end.netloc}/v1: " in error.message
    assert "refused" in error.message
    assert "pass-word-1" not in str(error) and "secret-value" not in str(error)


def test_a_key_that_no_header_can_carry() -> None:
    for key in ("sk-abc\u00e9defghijkl", "sk-abc\ndefghijkl"):
        with pytest.raises(LlmError) as raised:
            client("http://localhost/v1", key=key)
        assert raised.value.code == "CP5302"
        assert "defgh" not in str(raised.value)


def test_a_redirect_is_not_followed_and_the_key_goes_nowhere() -> None:
    with e.Endpoint([e.ok()]) as other:
        error, _ = failure([e.redirect(f"{other.url}/chat/completions")])
    assert error.code == "CP5317"
    assert other.seen == [] and other.gets == []
    assert error.message.endswith("redirects to http://127.0.0.1, which is not followed")


@pytest.mark.parametrize(
    "script",
    [
        [e.echo_key(401)],
        [e.echo_key(401, "key {half}... is wrong")],
        [e.echo_key(500, "x" * 380 + "{key}")] * 3,
        [e.echo_key(404, "model {key} not found")],
        [e.echo_key(400, "odd \\n{key}")],
        [e.body(f"<html><title>{KEY}</title>")],
        [e.body('{"choices": [{"message": {"content": {"' + KEY + '": 1}}}]}')],
        [e.says({"content": None, "refusal": KEY})],
        [e.redirect(f"http://{KEY}.example/")],
    ],
)
def test_an_echoed_key_is_hidden(script: list[e.Behaviour]) -> None:
    error, _ = failure(script, model=f"m-{KEY}")
    shown = repr(error) + str(error) + str(error.reply) + error.diagnostic().message
    assert not any(KEY[i : i + 12] in shown for i in range(len(KEY) - 11)), shown


def test_a_key_in_an_answer_is_hidden() -> None:
    with e.Endpoint([e.ok(f"# {KEY}\npass"), e.calls(("look", f'{{"name": "{KEY}"}}'))]) as end:
        asked = client(end.url)
        assert asked.ask(ASKED).content == "# [key]\npass"
        assert asked.ask(ASKED).calls[0].arguments == '{"name": "[key]"}'


def test_the_address_with_secrets_works_and_is_not_shown() -> None:
    with e.Endpoint(
        [e.ok(), e.status(500, "gone")],
    ) as end:
        asked = client(f"http://{end.netloc}/{KEY}/v1?sig=s-123456789&api-version=2026-01-01")
        asked.ask(ASKED)
        assert end.seen[0].path == f"/{KEY}/v1/chat/completions?sig=s-123456789&api-version=2026-01-01"
        assert asked.endpoint == f"http://{end.netloc}/[key]/v1"


def test_a_key_that_is_a_word_leaves_answers_alone() -> None:
    with e.Endpoint([e.ok("EMPTY"), e.echo_key(401)]) as end:
        asked = client(end.url, key="EMPTY")
        assert asked.ask(ASKED).content == "EMPTY"
        with pytest.raises(LlmError, match=r"provided: \[key\]"):
            asked.ask(ASKED)


def test_text_that_is_no_unicode_is_sent_and_received() -> None:
    raw = json.dumps(e.completion({"content": "a\ud800b \U0001f600"}))
    with e.Endpoint([e.body(raw)]) as end:
        reply = client(end.url).ask([Message("user", "x\udcffy")])
    assert reply.content == "a\ufffdb \U0001f600"
    assert end.seen[0].body["messages"][0]["content"] == "x?y"


def test_an_error_with_no_known_words_has_no_meaning() -> None:
    assert meaning(500, "a function failed: tools") is None
    assert meaning(400, "does not support tools", tools=False) is None
    assert meaning(401, "maximum context length") is None
