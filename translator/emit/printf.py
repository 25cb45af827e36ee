"""C's printf as `cute.printf`: what the DSL reads otherwise than C does is written another way.

`cute.printf` adds a newline, takes `{}` for a value, writes text as UTF-8 and takes no strings as values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from translator.model.expr import Expr, String
from translator.model.walk import walk_expr

_CONVERSION = re.compile(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+)?)?(?:hh|h|ll|l|j|z|t|L)?([A-Za-z%])")
_PLAIN_STRING = re.compile(r"%-?\d*(?:\.\d+)?s")


def printf_call(fmt: String, args: Sequence[Expr], text: Callable[[Expr], str]) -> str | None:
    """The call that prints what C's `printf(fmt, args…)` does; None where a string can't be a value."""
    source = _inlined(fmt.value.split("\0")[0], args)
    if source is None:
        return None
    template, values = source
    parts: list[str] = []
    given: list[str] = []
    at = 0
    for m in _CONVERSION.finditer(template):
        _literal(template[at : m.start()], parts, given)
        parts.append(m.group())
        taken = 0 if m[3] == "%" else 1 + (m[1] == "*") + (m[2] == "*")
        given += [text(e) for e in values[:taken]]
        values = values[taken:]
        at = m.end()
    _literal(template[at:], parts, given)
    given += [text(e) for e in values]
    made = "".join(parts)
    end = [] if made.endswith("\n") else ['end=""']
    return f"cute.printf({', '.join([repr(made.removesuffix(chr(10))), *given, *end])})"


def _inlined(template: str, args: Sequence[Expr]) -> tuple[str, list[Expr]] | None:
    """The format with string literals put in where `%s` takes them, and the values that are left."""
    made: list[str] = []
    left: list[Expr] = []
    rest = list(args)
    at = 0
    for m in _CONVERSION.finditer(template):
        made.append(template[at : m.start()])
        at = m.end()
        taken = 0 if m[3] == "%" else 1 + (m[1] == "*") + (m[2] == "*")
        own, rest = rest[:taken], rest[taken:]
        if len(own) == 1 and isinstance(own[0], String) and _PLAIN_STRING.fullmatch(m.group()):
            made.append((m.group() % own[0].value.split("\0")[0]).replace("%", "%%"))
            continue
        made.append(m.group())
        left += own
    made.append(template[at:])
    left += rest
    strings = any(isinstance(inner, String) for e in left for inner in walk_expr(e))
    return None if strings else ("".join(made), left)


def _literal(text: str, parts: list[str], given: list[str]) -> None:
    """Adds text that stands for itself; a byte that the DSL would not print as it is becomes a `%c`.

    `text` holds one character per byte, as C's strings do.
    """
    for k, piece in enumerate(re.split(r"(\{(?=\}))", text)):
        if k % 2:  # the brace of `{}`
            parts.append("%c")
            given.append("Int32(123)")
            continue
        for c in piece.encode("latin-1").decode("utf-8", "surrogateescape"):
            if "\udc80" <= c <= "\udcff":  # no UTF-8
                parts.append("%c")
                given.append(f"Int32({ord(c) - 0xDC00})")
            else:
                parts.append(c)
