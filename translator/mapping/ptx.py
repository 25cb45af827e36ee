"""Which inline PTX a port may carry over as it stands."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parent / "ptx.toml"
_STATEMENT = re.compile(
    r"(?:@!?%\w+\s+)?"  # a predicate
    r"([a-z][a-z0-9_]*)((?:[.:]+[A-Za-z0-9_]+)*)"  # the instruction and its modifiers
    r"(?:\s[^;{}]*(?:\{[^{};]*\}[^;{}]*)*)?;?"  # operands, vectors of them in braces
)
_OPERANDS = re.compile(r"[rlhfdnxC]")


@cache
def _admitted() -> tuple[frozenset[str], tuple[str, ...]]:
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    refused = tuple(table.pop("refused_with"))
    return frozenset(word for words in table.values() for word in words), refused


def admitted(template: str, constraints: str) -> bool:
    """Whether an asm statement is one listed instruction over operands a register or constant holds.

    `template` is the PTX with GCC's operand marks (`%0`), `constraints` the comma-separated constraints.
    """
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", template, flags=re.S).strip()
    match = _STATEMENT.fullmatch(text)
    if not match:
        return False
    words, refused = _admitted()
    instruction = match[1] + match[2]
    if match[1] not in words or any(part in instruction for part in refused):
        return False
    marks = [c.lstrip("=+&") for c in constraints.split(",") if c]
    return all(_OPERANDS.fullmatch(c) or c.isdigit() for c in marks)
