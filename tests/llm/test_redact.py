"""Keys and passwords are hidden in whatever form they come."""

from __future__ import annotations

import base64
import subprocess
import sys
import time

import pytest

from translator.llm.redact import Redactor, secrets_of, shown_url

KEY = "sk-0123456789/abcdef+ghi"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"key {KEY}.", "key [key]."),
        (f"{KEY}{KEY}", "[key]"),
        (f"{KEY} {KEY}", "[key] [key]"),
        (f"starts {KEY[:12]}***", "starts [key]***"),
        (f"ends ***{KEY[-12:]}", "ends ***[key]"),
        ("sk-0123456789%2Fabcdef%2Bghi", "[key]"),
        ("sk-0123456789\\/abcdef+ghi", "[key]"),
        ("sk-01234567", "sk-01234567"),
        ("", ""),
    ],
)
def test_a_key_and_its_parts_are_hidden(text: str, shown: str) -> None:
    assert Redactor([KEY])(text) == shown
    assert Redactor([KEY]).answer(text) == shown


def test_a_short_key_is_hidden_in_messages_only() -> None:
    redact = Redactor(["ollama"])
    assert (redact("ollama ollam"), redact.answer("ollama")) == ("[key] ollam", "ollama")
    assert Redactor(["abc"])("abc") == "abc"


def test_secrets_of_an_address() -> None:
    url = "https://me:p%40ss-word@host:8443/v1?sig=s-1234&api-version=2026-01-01"
    secrets = secrets_of("k-12345", url)
    assert secrets == (
        "k-12345",
        "p%40ss-word",
        "p@ss-word",
        base64.b64encode(b"me:p@ss-word").decode(),
        "s-1234",
    )
    assert secrets_of("", "https://t0ken-1@host") == ("t0ken-1",)
    assert shown_url(url, Redactor(secrets)) == "https://host:8443/v1"
    assert shown_url("http://[::1]:80/k-12345/v1/", Redactor(secrets)) == "http://[::1]:80/[key]/v1"


def test_a_megabyte_takes_no_time() -> None:
    redact = Redactor(["a" * 200, KEY * 8])
    began = time.process_time()
    assert redact("a" * 2**16) == "[key]"
    assert redact("b" * 2**20) == "b" * 2**20
    assert time.process_time() - began < 4


def test_a_client_is_imported_without_what_is_heavy() -> None:
    heavy = "{'openai', 'pydantic', 'httpx', 'torch'}"
    code = f"import sys, translator.llm.client; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "set()", done.stderr
