"""SARIF 2.1.0: findings with file and line, rules with the pages of their codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from verify.check.told import Told, shown
from verify.codes import CODES

_PAGES = Path(__file__).resolve().parent.parent / "pages"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Sequence[Told], exit_code: int) -> str:
    """The document as text."""
    codes = sorted({f.code for f in findings})
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "cuteport", "rules": [_rule(c) for c in codes]}},
        "columnKind": "utf16CodeUnits",
        "invocations": [{"executionSuccessful": exit_code <= 2, "exitCode": exit_code}],
        "results": [_result(f, codes.index(f.code)) for f in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(code: str) -> dict[str, Any]:
    meaning = CODES[code]
    try:
        page = (_PAGES / f"{code}.md").read_text(encoding="utf-8")
    except OSError:
        page = meaning
    return {
        "id": code,
        "shortDescription": {"text": meaning[0].upper() + meaning[1:]},
        "help": {"text": page, "markdown": page},
    }


def _result(f: Told, index: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "ruleId": f.code,
        "ruleIndex": index,
        "level": f.level,
        "message": {"text": f.message},
        "properties": {"target": f.target},
    }
    if f.file:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(f.file)}}
        if f.line:
            place["region"] = {"startLine": f.line}
        made["locations"] = [{"physicalLocation": place}]
    return made


def _uri(file: str) -> str:
    path = shown(file)
    text = quote(path.encode("utf-8", "surrogateescape"))
    return f"file://{text}" if path.startswith("/") else text
