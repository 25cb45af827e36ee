"""Values and tables of a spec as TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping


def table(arg: Mapping[str, object], renamed: Mapping[str, str]) -> list[str]:
    lines = []
    for key, value in arg.items():
        if key == "fields" and isinstance(value, list):
            lines.append("fields = [")
            lines += [f"    {_toml(f)}," for f in value]
            lines.append("]")
        else:
            lines.append(f"{key} = {_toml(value)}")
        if key == "name" and value in renamed:
            lines.append(f"port_name = {_toml(renamed[str(value)])}")
    return lines


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{k} = {_toml(v)}' for k, v in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return quoted(str(value))


def key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else quoted(name)


def quoted(text: str) -> str:
    """A basic string of TOML, which takes no control characters."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+", " ", escaped) + '"'
