"""Workflow commands of GitHub Actions: findings as annotations at their lines."""

from __future__ import annotations

from collections.abc import Sequence

from verify.check.told import Told, shown

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_MESSAGE = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_PROPERTY = (*_MESSAGE, (":", "%3A"), (",", "%2C"))


def workflow_commands(findings: Sequence[Told]) -> list[str]:
    """One line each."""
    lines = []
    for f in findings:
        properties = [f"title={_escaped(f.code, _PROPERTY)}"]
        if f.file:
            properties.insert(0, f"file={_escaped(shown(f.file), _PROPERTY)}")
        if f.file and f.line:
            properties.insert(1, f"line={f.line}")
        lines.append(f"::{_COMMANDS[f.level]} {','.join(properties)}::{_escaped(f.message, _MESSAGE)}")
    return lines


def _escaped(text: str, table: Sequence[tuple[str, str]]) -> str:
    for plain, code in table:
        text = text.replace(plain, code)
    return text
