"""The score counts what a verification did with mutants, and shows those that got through."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from verify.mutate.generate import Mutant
from verify.mutate.score import Judged, Ruling, Score, judged, report, score
from verify.verdict import Status

ORIGINAL = "a\nb\nc\n"
RULINGS: Mapping[str, Ruling] = {
    "caught": Ruling(Status.WRONG_VALUES, "CP7012"),
    "hangs": Ruling(Status.TIMEOUT),
    "suspect": Ruling(Status.SANITIZER, "CP8011"),
    "lives": Ruling(Status.PASSED),
    "same": Ruling(Status.PASSED, same_code=True),
    "broken": Ruling(Status.COMPILE_ERROR, "CP6102"),
    "banned": Ruling(Status.REJECTED_STATIC, "CP6005"),
    "skipped": Ruling(Status.NOT_RUN),
}


def mutant(name: str, kind: str) -> Mutant:
    return Mutant(f"{kind}-{name}", kind, 2, f"b → {name}", f"a\n{name}\nc\n")


def scored(*names: str) -> Score:
    every = [mutant(n, "bound" if n < "m" else "guard") for n in names]
    return score("t", judged(every, lambda source: RULINGS[source.split()[1]]))


def test_every_fate_is_counted_once() -> None:
    result = scored(*RULINGS)
    assert (result.killed, result.survived, result.invalid) == (3, 1, 2)
    assert (result.count("equivalent"), result.count("unjudged")) == (1, 1)
    assert result.kinds["bound", "survived"] == 1 and result.kinds["guard", "killed"] == 1
    assert result.codes == {"CP7012": 1, "TIMEOUT": 1, "CP8011": 1}


def test_only_judged_changes_count_for_the_share() -> None:
    assert scored("caught", "hangs", "suspect", "lives").share == 0.75
    assert scored("caught", "same", "broken", "skipped").share == 1.0
    assert scored("lives").share == 0.0
    assert scored("broken").share == 1.0


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.PASSED])
def test_no_verdict_but_a_good_one_lets_a_mutant_live(status: Status) -> None:
    fate = Judged(mutant("x", "bound"), Ruling(status)).fate
    assert (fate == "survived") == (status is Status.COMPILED)


def test_the_report_shows_survivors_with_their_diff() -> None:
    text = report(scored("caught", "lives", "same"), ORIGINAL)
    assert text.startswith("t: 50.0 % of mutants killed (1 killed, 1 survived, 1 equivalent)\n")
    assert "  bound: 1 killed, 1 survived\n" in text
    assert "survived: bound-lives b → lives\n--- port.py\n+++ port.py (bound-lives)\n" in text
    assert "\n-b\n+lives\n" in text
    assert "caught" not in text.split("survived: ", 1)[1]
