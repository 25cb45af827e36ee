"""Open questions of a spec, as they are told: where each stands, and what answers it."""

from __future__ import annotations

from pathlib import Path

from verify.spec import Spec
from verify.spec_file import Lines


def told(target: Path, spec: Spec) -> str:
    """The first question that nobody answered, with its line of spec.toml, and how many more there are."""
    path = target / "spec.toml"
    at, first = next((k, q) for k, q in enumerate(spec.question) if not q.answer)
    try:
        line = f":{Lines(path.read_text(encoding='utf-8')).of(('question', at))}"
    except (OSError, ValueError):
        line = ""
    more = len(spec.open_questions) - 1
    others = f"; {more} more {'is' if more == 1 else 'are'} open" if more else ""
    return f'{path}{line}: a [[question]] without `answer = "…"`: {first.code}: {first.text}{others}'
