"""What the emulator saw a kernel do, and what each kind means for a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from verify.facts import FindingFacts
from verify.notes import is_note
from verify.verdict import Status

SideName = Literal["original", "port"]

_TIMEOUT = "CP8041"


def read_findings(side: SideName, case: str, raw: Iterable[Mapping[str, Any]]) -> list[FindingFacts]:
    """Findings as a child reports them."""
    return [
        FindingFacts(
            side=side,
            code=f["code"],
            message=f["message"],
            case=case,
            file=f["file"],
            line=f["line"],
            ptx=f["ptx"],
            count=f["count"],
            block=f["block"],
            thread=f["thread"],
        )
        for f in raw
    ]


def gravest(found: Iterable[FindingFacts]) -> FindingFacts | None:
    """The first finding that is no mere note; the budget counts only where nothing else explains it."""
    grave = [f for f in found if not is_note(f.code)]
    return min(grave, key=lambda f: f.code == _TIMEOUT, default=None)


def status_of_finding(found: FindingFacts) -> Status:
    """The status of a target one of whose sides does this."""
    if found.side == "original":
        return Status.ORIGINAL_SUSPECT
    return Status.TIMEOUT if found.code == _TIMEOUT else Status.SANITIZER


class Noted:
    """Findings of all runs, each place once."""

    def __init__(self) -> None:
        self._held: dict[tuple[object, ...], FindingFacts] = {}

    def add(self, found: Iterable[FindingFacts]) -> None:
        """Count findings in; the words and the case of the first stay."""
        for f in found:
            key = (f.side, f.code, f.file, f.line, f.ptx)
            old = self._held.get(key)
            self._held[key] = f if old is None else old.model_copy(update={"count": old.count + f.count})

    @property
    def all(self) -> list[FindingFacts]:
        return list(self._held.values())
