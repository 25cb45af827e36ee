"""A Brief as the first two messages of a conversation, and what a check found as a later one.

Templates are in `templates/`; each value that they print goes through `data.Fencing`, as a word of a sentence
or as a fenced block, so that no text of a user's can change what a prompt consists of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from textwrap import indent
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from translator.prompts.brief import Brief, Times, texts_of
from translator.prompts.data import Fencing, Safe, marker_of, message_text
from translator.prompts.feedback import Feedback, Place
from translator.prompts.frame import frame_values
from translator.prompts.pitfalls import Pitfall

# Raised with every change of the templates or of pitfalls.toml: transcripts say by it what a model was told.
VERSION = 5


def opening(brief: Brief) -> tuple[str, str]:
    """(system message, user message). Same brief, same bytes."""
    env = _environment(brief_marker(brief))
    # A draft or a verified port has its own frame.
    skeleton = "" if brief.draft or brief.best is not None else frame(brief)
    system = env.get_template("system.md.j2").render(b=brief)
    user = env.get_template(f"{brief.mode}.md.j2").render(b=brief, skeleton=skeleton)
    return _tidy(system), _tidy(user)


def feedback(
    items: Sequence[Feedback], marker: str, *, tools: bool = False, turns_left: int | None = None
) -> str:
    """The message that answers a candidate. `marker` is the conversation's (`brief_marker`)."""
    env = _environment(marker)
    parts = [env.get_template(template_of(type(item))).render(f=item).strip("\n") for item in items]
    end = env.get_template("feedback/end.md.j2").render(tools=tools, turns_left=turns_left)
    return _tidy("\n\n".join([*parts, end]))


def frame(brief: Brief) -> str:
    """A whole port of the brief's signature whose kernel does nothing; "" where its names forbid one."""
    values = frame_values(brief)
    env = _environment(brief_marker(brief))
    return "" if values is None else env.get_template("frame.py.j2").render(values)


def brief_marker(brief: Brief) -> str:
    """What data of this conversation are marked by: no text of the brief has it."""
    return marker_of(texts_of(brief))


def without_exemplar(brief: Brief) -> Brief:
    """The brief less its last exemplar, the one that fits least; itself where there is none."""
    return replace(brief, exemplars=brief.exemplars[:-1])


def size(brief: Brief) -> int:
    """Characters of both messages."""
    return sum(map(len, opening(brief)))


def fitted(brief: Brief, characters: int) -> Brief:
    """The brief less as many exemplars, from the last on, as it takes to be no larger. It may stay larger."""
    while brief.exemplars and size(brief) > characters:
        brief = without_exemplar(brief)
    return brief


def template_of(kind: type) -> str:
    """The template of a kind of feedback: feedback/wrong_values.md.j2 of WrongValues."""
    return f"feedback/{re.sub(r'(?<!^)(?=[A-Z])', '_', kind.__name__).lower()}.md.j2"


def _tidy(text: str) -> str:
    return text.strip("\n") + "\n"


@lru_cache(maxsize=8)
def _environment(marker: str) -> Environment:
    fencing = Fencing(marker)

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Safe) else fencing.word(value)

    env = Environment(
        loader=PackageLoader("translator.prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # this is Markdown: finalize does what escaping would
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=finalize,
    )
    functions: dict[str, Callable[..., Any]] = {
        "data": fencing.block,
        "said": lambda name, text: fencing.block(name, message_text(text)),
        "cell": lambda value: Safe(fencing.word(value).replace("|", "\\|")),
        "own": Safe,  # text of this package's tables, or made of identifiers
        "snippet": _snippet,
        "listed": _listed(fencing),
        "place": _place(fencing),
        "speed": _speed,
        "coordinates": lambda at: f"({', '.join(map(str, at))})",
    }
    env.globals |= functions | {"marker": Safe(marker)}
    return env


def _listed(fencing: Fencing) -> Callable[[Sequence[object]], Safe]:
    """`a`, `b`, `c`; or "none"."""

    def listed(values: Sequence[object]) -> Safe:
        words = [fencing.word(v) for v in values]
        return Safe(", ".join(f"`{w}`" for w in words) if words else "none")

    return listed


def _place(fencing: Fencing) -> Callable[[Place], Safe]:
    """`port.py:12` and, where it is known, the line."""

    def place(p: Place) -> Safe:
        where = f"{fencing.word(p.file)}:{p.line}"
        return Safe(f"{where}: `{fencing.word(p.source)}`" if p.source else where)

    return place


def _snippet(p: Pitfall) -> Safe:
    """The lines of a pitfall, which are this package's own."""
    lines = [f"# not\n{p.wrong}"] if p.wrong else []
    lines += [f"# but\n{p.right}" if p.wrong else p.right]
    return Safe(indent("\n".join(["```python", *lines, "```"]), "  "))


def _speed(t: Times) -> str:
    ratio = t.original_us / t.port_us
    words = f"{t.port_us:.4g} µs, the original {t.original_us:.4g} µs ({ratio:.2f} times its speed)"
    floor = f"; no launch can take less than about {t.floor_us:.4g} µs" if t.floor_us is not None else ""
    return f"{t.case}: {words}{floor}"
