"""An OpenAI-compatible endpoint on this machine that does what a script says, faults included.

Each POST takes the next behaviour of the script; one more than the script has is answered with 418, which no
row expects. GETs of `/models` are answered from `models`.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler", dict[str, Any]], None]
COUNTS = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Endpoint:
    """`with Endpoint([ok("hi")]) as e:` serves at `e.url` until the block ends; `e.seen` has the POSTs."""

    script: Sequence[Behaviour]
    models: object = field(default_factory=lambda: {"data": [{"id": "m-large"}, {"id": "m-small"}]})
    seen: list[Seen] = field(default_factory=list)
    gets: list[Seen] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Endpoint:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.server.endpoint = self  # type: ignore[attr-defined]
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()  # ends what hangs
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def netloc(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.netloc}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ThreadingHTTPServer

    @property
    def endpoint(self) -> Endpoint:
        return self.server.endpoint  # type: ignore[attr-defined, no-any-return]

    def log_message(self, *_: object) -> None:
        pass

    def _saw(self, body: dict[str, Any]) -> Seen:
        headers = {k.lower(): v for k, v in self.headers.items()}
        return Seen(self.command, self.path, headers, body)

    def do_GET(self) -> None:
        self.endpoint.gets.append(self._saw({}))
        send(self, 200, json.dumps(self.endpoint.models))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        seen = self.endpoint.seen
        seen.append(self._saw(body))
        script = self.endpoint.script
        behaviour = script[len(seen) - 1] if len(seen) <= len(script) else status(418, "the script is over")
        with contextlib.suppress(OSError):  # the client went away
            behaviour(self, body)


def send(
    to: Handler,
    code: int,
    body: str | bytes,
    kind: str = "application/json",
    headers: dict[str, str] | None = None,
) -> None:
    raw = body if isinstance(body, bytes) else body.encode()
    to.send_response(code)
    to.send_header("content-type", kind)
    to.send_header("content-length", str(len(raw)))
    for name, value in (headers or {}).items():
        to.send_header(name, value)
    to.end_headers()
    to.wfile.write(raw)


def completion(message: dict[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion",
        "model": "m-1",
        "choices": [choice],
        "usage": COUNTS,
        **more,
    }


def chunks(message: dict[str, Any], finish: str = "stop") -> list[dict[str, Any]]:
    """The same answer in pieces of three characters, ended by an event with the counts."""
    head = {"id": "c", "object": "chat.completion.chunk", "model": "m-1"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    text = message.get("content") or ""
    deltas += [{"content": text[i : i + 3]} for i in range(0, len(text), 3)]
    deltas += [{k: v} for k, v in message.items() if k not in ("content", "tool_calls")]
    for n, call in enumerate(message.get("tool_calls") or []):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        deltas.append(
            {"tool_calls": [{"index": n, "id": call["id"], "function": {"name": name, "arguments": ""}}]}
        )
        for i in range(0, len(arguments), 3):
            deltas.append({"tool_calls": [{"index": n, "function": {"arguments": arguments[i : i + 3]}}]})
    made = [{**head, "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    made.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [*made, {**head, "choices": [], "usage": COUNTS}]


def events(rows: Sequence[dict[str, Any]], *, end: bool = True) -> bytes:
    text = "".join(f"data: {json.dumps(row)}\n\n" for row in rows)
    return (text + ("data: [DONE]\n\n" if end else "")).encode()


def stream(to: Handler, body: bytes) -> None:
    """`body` as server-sent events, to the end of the connection."""
    to.send_response(200)
    to.send_header("content-type", "text/event-stream")
    to.send_header("connection", "close")
    to.end_headers()
    to.wfile.write(body)
    to.wfile.flush()
    to.close_connection = True


# ---- behaviours


def says(message: dict[str, Any], finish: str = "stop") -> Behaviour:
    """An answer, streamed where it was asked for so."""

    def behave(to: Handler, asked: dict[str, Any]) -> None:
        if asked.get("stream"):
            stream(to, events(chunks(message, finish)))
        else:
            send(to, 200, json.dumps(completion(message, finish)))

    return behave


def ok(text: str = "hello", finish: str = "stop") -> Behaviour:
    return says({"content": text}, finish)


def calls(*pairs: tuple[str, str]) -> Behaviour:
    """Tool calls, each a name and the text of its arguments."""
    made = [
        {"id": f"id{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(pairs)
    ]
    return says({"content": None, "tool_calls": made}, "tool_calls")


def status(code: int, body: object, **headers: str) -> Behaviour:
    """An HTTP status; a text becomes OpenAI's form of an error."""
    said = {"error": {"message": body, "type": "e", "code": None}} if isinstance(body, str) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda to, _: send(to, code, json.dumps(said), headers=named)


def body(raw: str | bytes, kind: str = "application/json", code: int = 200) -> Behaviour:
    return lambda to, _: send(to, code, raw, kind)


def sse(raw: bytes) -> Behaviour:
    return lambda to, _: stream(to, raw)


def redirect(url: str, code: int = 307) -> Behaviour:
    return lambda to, asked: send(to, code, "", headers={"location": url})


def echo_key(code: int, wrap: str = "Incorrect API key provided: {key}") -> Behaviour:
    """An error that has the key in it, as it came."""

    def behave(to: Handler, asked: dict[str, Any]) -> None:
        key = to.headers["authorization"].removeprefix("Bearer ")
        status(code, wrap.format(key=key, half=key[: len(key) // 2]))(to, asked)

    return behave


def hang(to: Handler, _: dict[str, Any]) -> None:
    to.endpoint.over.wait(20)
    to.close_connection = True


def hang_in_body(to: Handler, _: dict[str, Any]) -> None:
    to.send_response(200)
    to.send_header("content-type", "text/event-stream")
    to.end_headers()
    to.wfile.write(events(chunks({"content": "hel"})[:2], end=False))
    to.wfile.flush()
    hang(to, _)


def drip(seconds: float) -> Behaviour:
    """A byte now and then, each well before a timeout of silence."""

    def behave(to: Handler, _: dict[str, Any]) -> None:
        to.send_response(200)
        to.send_header("content-type", "text/event-stream")
        to.end_headers()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not to.endpoint.over.wait(0.05):
            to.wfile.write(b":")
            to.wfile.flush()
        to.close_connection = True

    return behave


def _reset(to: Handler) -> None:
    """Ends the connection with a reset instead of an end."""
    to.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    to.connection.close()
    to.close_connection = True


def drop(to: Handler, _: dict[str, Any]) -> None:
    """No answer at all: the connection ends."""
    _reset(to)


def reset_in_body(to: Handler, _: dict[str, Any]) -> None:
    raw = json.dumps(completion({"content": "hello"})).encode()
    to.send_response(200)
    to.send_header("content-type", "application/json")
    to.send_header("content-length", str(len(raw)))
    to.end_headers()
    to.wfile.write(raw[: len(raw) // 2])
    to.wfile.flush()
    time.sleep(0.02)
    _reset(to)


def short_body(to: Handler, _: dict[str, Any]) -> None:
    """Fewer bytes than announced, then an orderly end."""
    raw = json.dumps(completion({"content": "hello"})).encode()
    to.send_response(200)
    to.send_header("content-type", "application/json")
    to.send_header("content-length", str(len(raw)))
    to.end_headers()
    to.wfile.write(raw[: len(raw) // 2])
    to.close_connection = True


def huge(size: int) -> Behaviour:
    """An answer of `size` bytes, as whole as any."""

    def behave(to: Handler, _: dict[str, Any]) -> None:
        head, tail = json.dumps(completion({"content": "@"})).encode().split(b"@")
        to.send_response(200)
        to.send_header("content-type", "application/json")
        to.send_header("content-length", str(len(head) + size + len(tail)))
        to.end_headers()
        to.wfile.write(head)
        for _n in range(size // 2**20):
            to.wfile.write(b"x" * 2**20)
        to.wfile.write(tail)

    return behave


def open_after_end(to: Handler, asked: dict[str, Any]) -> None:
    """A whole stream whose connection stays open."""
    to.send_response(200)
    to.send_header("content-type", "text/event-stream")
    to.end_headers()
    to.wfile.write(events(chunks({"content": "hello"})))
    to.wfile.flush()
    hang(to, asked)
