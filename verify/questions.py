"""Open questions of a spec, as they are told: where each stands, and what answers it."""

from __future__ import annotations

from pathlib import Path

from verify.spec import Question, Spec
from verify.spec_file import Lines

# Questions about what was seen in the source, where others are about what was assumed: the original reaches
# beyond what its host allocates.
SEEN = frozenset({"CP3111"})


def placed(target: Path, spec: Spec) -> list[tuple[int, Question]]:
    """The questions that nobody answered, each with its line of spec.toml; 0 where that can't be read."""
    try:
        lines = Lines((target / "spec.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        lines = None
    return [
        (lines.of(("question", k)) if lines is not None else 0, q)
        for k, q in enumerate(spec.question)
        if not q.answer
    ]


def told(target: Path, spec: Spec) -> str:
    """The first question that nobody answered, with its line of spec.toml, and how many more there are."""
    path = target / "spec.toml"
    at, first = (asked := placed(target, spec))[0]
    line = f":{at}" if at else ""
    more = len(asked) - 1
    others = f"; {more} more {'is' if more == 1 else 'are'} open" if more else ""
    return f'{path}{line}: a [[question]] without `answer = "…"`: {first.code}: {first.text}{others}'
