"""Which of two verdicts on the same files tells of more: a lesser run must not cost a target what a longer
one has shown."""

from __future__ import annotations

from pathlib import Path

from verify.certificate import CertificateError, read_certificate
from verify.verdict import STAGES, Status, Verdict

_FILES = ("spec", "original", "port", "reference")
_GOOD = frozenset({Status.PASSED, Status.COMPILED, Status.NOT_RUN})
_HELD = frozenset({Status.PASSED, Status.SLOWER})  # whose values were found right


def kept(place: Path, found: Verdict) -> str:
    """What the verdict in `place` has that `found` lacks, in words, where it is to stay; "" where `found` is
    to replace it. A failure replaces everything, and so does what is found of other files. OSError passes."""
    if found.status not in _GOOD:
        return ""
    try:
        old = read_certificate(place)
    except CertificateError:
        return ""  # absent, damaged or edited: nothing that could be kept
    if any(old.hashes.get(f) != found.hashes.get(f) for f in _FILES):
        return ""
    return ", ".join(_more(old, found))


def _more(old: Verdict, new: Verdict) -> list[str]:
    ran, runs = _ran(old), _ran(new)
    more = [f"stage {s}" for s in STAGES if s in ran - runs] if runs < ran else []
    on, here = _device(old), _device(new)
    if on == "gpu" and here == "emulator" and old.status in _HELD:
        more.append("values from a GPU")
    cases, chosen = _cases(old), _cases(new)
    if on and here and chosen is not None and (cases is None or chosen < cases):
        more.append("all cases" if cases is None else f"cases {', '.join(sorted(cases - chosen))}")
    return more


def _ran(verdict: Verdict) -> set[str]:
    return {s.stage for s in verdict.stages if s.status is not Status.NOT_RUN}


def _device(verdict: Verdict) -> str:
    """Where values were compared; "" where they were not."""
    stage = verdict.stage("parity")
    return stage.parity.device if stage is not None and stage.parity is not None else ""


def _cases(verdict: Verdict) -> set[str] | None:
    """The cases that were asked for; None for all."""
    return set(verdict.asked.cases) or None if verdict.asked is not None else None
