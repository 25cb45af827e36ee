"""A verdict is about the files that were there when it began: what changed meanwhile voids it (CP7043)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verify.verdict import StageResult, Status


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Names of the files whose hashes differ."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def voided(stages: Sequence[StageResult], names: Sequence[str]) -> list[StageResult]:
    """The stages of a verdict during which these files changed: the last that ran decides nothing, and none
    after it did."""
    ran = [s for s in stages if s.stage in ("static", "compile", "parity") and s.status is not Status.NOT_RUN]
    if not ran:
        return list(stages)
    last = ran[-1]
    void = StageResult(
        stage=last.stage,
        target=last.target,
        status=Status.AMBIGUOUS,
        code="CP7043",
        message=f"changed while it ran: {', '.join(names)}; it had ended {last.status}",
        seconds=last.seconds,
    )
    return ended(stages, void)


def ended(stages: Sequence[StageResult], closed: StageResult) -> list[StageResult]:
    """The stages with another result for one of them; those after it count as not run."""
    at = next(i for i, s in enumerate(stages) if s.stage == closed.stage)
    why = f"{closed.stage} ended {closed.status}"
    none = {"status": Status.NOT_RUN, "code": None, "message": why, "bench": None, "sanitize": None}
    return [*stages[:at], closed, *(s.model_copy(update=none) for s in stages[at + 1 :])]
