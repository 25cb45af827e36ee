"""An ORIGINAL_SUSPECT says first what is wrong with the original."""

from __future__ import annotations

import pytest

from verify.blame import blame
from verify.codes import CODES
from verify.facts import FindingFacts
from verify.findings import status_of_finding
from verify.statuses import status_of
from verify.verdict import StageResult, Status, conclude

SEEN = [c for c in CODES if c.startswith("CP80") and c not in ("CP8013", "CP8062")]
SUSPECT = [c for c in CODES if status_of(c) is Status.ORIGINAL_SUSPECT] + SEEN


def test_findings_of_the_emulator_suspect_the_original() -> None:
    found = FindingFacts(side="original", code="CP8011", message="race", case="a", file="", line=0, ptx="")
    assert status_of_finding(found) is Status.ORIGINAL_SUSPECT
    assert "CP7031" in SUSPECT and "CP7008" in SUSPECT


@pytest.mark.parametrize("code", SUSPECT)
def test_each_code_has_its_words(code: str) -> None:
    assert blame(code) != blame(None)


@pytest.mark.parametrize(
    ("code", "words"),
    [("CP8001", "goes out of bounds"), ("CP8012", "has a race"), ("CP7031", "is miscompiled")],
)
def test_the_first_words_of_a_verdict(code: str, words: str) -> None:
    stage = StageResult(
        stage="parity", target="t", status=Status.ORIGINAL_SUSPECT, code=code, message="case n=1: told"
    )
    assert conclude([stage]) == (
        Status.ORIGINAL_SUSPECT,
        f"the original {words}; parity: {code} case n=1: told",
    )
    other = StageResult(stage="parity", target="t", status=Status.SANITIZER, code=code, message="told")
    assert conclude([other])[1] == f"parity: {code} told"
