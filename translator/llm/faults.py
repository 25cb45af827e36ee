"""Which coded error a failed request is: the HTTP status and the words of many endpoints, as a table."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from translator.llm.messages import LlmError
from translator.llm.redact import Redactor

Meaning = Literal["request", "context", "quota", "filter", "tools", "stream", "model", "rate"]
_SHOWN = 400  # characters of an endpoint's own words in a message


class LacksError(Exception):
    """The endpoint takes no tools, or does not stream; asked without, it may answer."""

    def __init__(self, what: Literal["tools", "stream"]) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request was: `endpoint` as it may be shown, whether a key was set, and what it had in it."""

    endpoint: str
    model: str
    redact: Redactor
    key: bool
    tools: bool
    streamed: bool
    models: Callable[[], str]  # says in words which models there are; asks the endpoint


@dataclass(frozen=True, slots=True)
class _Row:
    means: Meaning
    says: tuple[re.Pattern[str], ...]
    status: frozenset[int]


@cache
def _rows() -> tuple[_Row, ...]:
    text = files("translator.llm").joinpath("dialects.toml").read_text(encoding="utf-8")
    return tuple(
        _Row(cast(Meaning, r["means"]), tuple(re.compile(s) for s in r["says"]), frozenset(r["status"]))
        for r in tomllib.loads(text)["row"]
    )


def meaning(status: int, text: str, *, tools: bool = True, streamed: bool = True) -> Meaning | None:
    """What an error with this HTTP status and text means; None where only the status tells."""
    text = text.lower()[:20_000]
    for row in _rows():
        if status not in row.status or (row.means == "tools" and not tools):
            continue
        if row.means == "stream" and not streamed:
            continue
        if any(p.search(text) for p in row.says):
            return row.means
    return None


def plain(text: str, redact: Redactor) -> str:
    """`text` on one line, printable, cut, and without secrets."""
    text = re.sub(r"<(script|style)\b.*?</\1>|<[^<>]{0,1000}>", " ", text[:20_000], flags=re.DOTALL)
    text = redact(" ".join(text.split()))  # redacted before it is cut: half a key is a secret too
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text[: _SHOWN - 1] + "…" if len(text) > _SHOWN else text or "no reason given"


def tries(count: int) -> str:
    return f"{count} {'try' if count == 1 else 'tries'}"


def of_status(
    status: int,
    text: str,
    asked: Asked,
    *,
    also: str = "",
    count: int = 1,
    headers: Mapping[str, str] | None = None,
) -> LlmError | LacksError:
    """The error of an answer with this HTTP status. `text` is what it says and `also` more words that tell
    what it means; `count` is how many times it was asked for."""
    headers = headers or {}
    reason = plain(text, asked.redact)
    means = meaning(status, f"{text} {also}", tools=asked.tools, streamed=asked.streamed)
    here: dict[str, Any] = {"endpoint": asked.endpoint}
    who: dict[str, Any] = {"model": asked.redact(asked.model)}
    match means:
        case "tools" | "stream":
            return LacksError(means)
        case "context":
            return LlmError.of("CP5312", reason=reason, **who)
        case "quota":
            return LlmError.of("CP5306", reason=reason, **here)
        case "filter":
            return LlmError.of("CP5314", reason=reason, **who)
        case "model":
            return LlmError.of("CP5303", known=asked.models(), **who, **here)
        case "request":
            return LlmError.of("CP5315", status=status, reason=reason, **here)
    if 300 <= status < 400:
        return LlmError.of("CP5317", other=_other(headers.get("location", ""), asked.redact), **here)
    if status in (401, 403):
        return LlmError.of("CP5302", reason=reason, **here) if asked.key else LlmError.of("CP5301", **here)
    if status in (404, 405, 410, 501):
        return LlmError.of("CP5316", reason=f"HTTP {status} ({reason}); does its address end in /v1?", **here)
    if status == 429 or means == "rate":
        wait = headers.get("retry-after", "")
        more = f"; it asks to wait {wait} s" if re.fullmatch(r"\d{1,6}", wait) else ""
        return LlmError.of("CP5305", tries=tries(count), reason=reason + more, **here)
    if status == 408:
        return LlmError.of("CP5307", reason=f"HTTP 408 ({reason})", **here)
    if status >= 500 or status == 200:  # 200: an error inside a body that names no status
        return LlmError.of("CP5308", tries=tries(count), reason=f"HTTP {status} ({reason})", **here)
    return LlmError.of("CP5315", status=status, reason=reason, **here)


def _other(location: str, redact: Redactor) -> str:
    """Where a redirect goes: scheme and host only, the rest may hold what nobody should read."""
    try:
        parts = urlsplit(location)
        host = parts.hostname
    except ValueError:
        return "another address"
    return plain(f"{parts.scheme or 'http'}://{host}", redact) if host else "another path"
