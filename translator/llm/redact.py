"""Keeps keys and passwords out of whatever is shown or written."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlsplit

HIDDEN = "[key]"
_WINDOW = 12  # characters of a key in a row that are no accident; an endpoint may echo a part of it
_TELLING = 8  # a shorter key ("EMPTY", "ollama") is a word that an answer may well have in it
_SHORTEST = 4


class Redactor:
    """Replaces secrets, and parts of them, in texts.

    `redact(text)` is for messages. `redact.answer(text)` is for what a model wrote: there, keys of fewer than
    eight characters stay, since they are what people type where no key is needed.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        self._all = tuple(sorted(known))
        self._telling = tuple(s for s in self._all if len(s) >= _TELLING)

    def __call__(self, text: str) -> str:
        return _hidden(text, self._all)

    def answer(self, text: str) -> str:
        return _hidden(text, self._telling)


def secrets_of(key: str, base_url: str) -> tuple[str, ...]:
    """What must not be shown: the key, and the user, password and query values of the endpoint's address."""
    parts = urlsplit(base_url)
    found = [key]
    if parts.password is not None:
        found += [parts.password, unquote(parts.password)]
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
        found.append(base64.b64encode(pair.encode()).decode())
    elif parts.username:
        found += [parts.username, unquote(parts.username)]
    found += [value for name, value in parse_qsl(parts.query) if name.lower() != "api-version"]
    return tuple(dict.fromkeys(s for s in found if s))


def shown_url(base_url: str, redact: Redactor) -> str:
    """The address without user, password, query and fragment, and without a key in its path."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port is not None else ""
    return redact(f"{parts.scheme}://{host}{port}{parts.path}".rstrip("/"))


def _forms(secret: str) -> set[str]:
    return {secret, quote(secret, safe=""), quote(secret), secret.replace("/", "\\/")}


def _hidden(text: str, secrets: tuple[str, ...]) -> str:
    found: list[tuple[int, int]] = []
    for secret in secrets:
        width = min(_WINDOW, len(secret))
        for window in {secret[start : start + width] for start in range(len(secret) - width + 1)}:
            at = text.find(window)
            while at >= 0:
                found.append((at, at + width))
                at = text.find(window, at + 1)
    runs: list[list[int]] = []
    for first, last in sorted(found):
        if runs and first <= runs[-1][1]:
            runs[-1][1] = max(runs[-1][1], last)
        else:
            runs.append([first, last])
    made, done = "", 0
    for first, last in runs:
        made += text[done:first] + HIDDEN
        done = last
    return made + text[done:]
