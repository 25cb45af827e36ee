"""Findings that fail nothing, and which of them a verdict should tell all the same."""

from __future__ import annotations

from collections.abc import Iterable

from verify.facts import FindingFacts

# Told, but no reason to doubt a result: a race whose winner does not matter, and what right kernels are told
# of too.
_BENIGN = frozenset({"CP8013", "CP8062"})
# A port alone with it is one changed line away from a race that shows.
_WARNED = frozenset({"CP8013"})


def is_note(code: str) -> bool:
    """True for what is told and fails nothing."""
    return code in _BENIGN


def in_words(found: FindingFacts) -> str:
    """One line: what, and where in the source."""
    return f"{found.message} ({found.file}:{found.line})" if found.line else f"{found.message} ({found.ptx})"


def marked(found: Iterable[FindingFacts]) -> list[FindingFacts]:
    """The findings of both sides; those of the port that the original has too are `inherited`."""
    held = list(found)
    theirs = {f.code for f in held if f.side == "original"}
    return [f.model_copy(update={"inherited": f.side == "port" and f.code in theirs}) for f in held]


def warned(found: Iterable[FindingFacts]) -> list[FindingFacts]:
    """Races of the port alone that change nothing in these runs."""
    return [f for f in found if f.side == "port" and f.code in _WARNED and not f.inherited]
