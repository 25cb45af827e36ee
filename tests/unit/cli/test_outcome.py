"""Exit codes: the gravest that applies; and what a report says was proven."""

from __future__ import annotations

from dataclasses import replace

import pytest

from translator.outcome import Finding, Outcome, Report, Stage


def outcome(status: str, *codes: str, stages: tuple[Stage, ...] = ()) -> Outcome:
    findings = tuple(Finding(c, "error", "m") for c in codes)
    return Outcome("k.cu", "k", "", status, findings=findings, stages=stages)


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([outcome("PASSED"), outcome("COMPILED"), outcome("NOT_RUN")], 0),
        ([outcome("PASSED"), outcome("REFUSED", "CP1111")], 1),
        ([outcome("REFUSED", "CP1111"), outcome("REFUSED", "CP1001")], 2),
        ([outcome("NOT_RUN", "CP9001")], 3),
        ([outcome("NOT_RUN", "CP9005")], 3),
        ([outcome("REFUSED", "CP0002"), outcome("REFUSED", "CP1001")], 3),
        ([outcome("CRASHED", "CP0001"), outcome("REFUSED", "CP0002")], 4),
        ([], 1),
    ],
)
def test_the_gravest_decides(outcomes: list[Outcome], code: int) -> None:
    assert Report(outcomes).exit_code == code


def test_interrupted_is_130() -> None:
    assert Report([outcome("PASSED")], interrupted=True).exit_code == 130


def test_what_was_proven_and_what_was_not_run() -> None:
    parity = Stage("parity", "NOT_RUN", why="no GPU")
    report = Report(
        [
            outcome("COMPILED", stages=(parity,)),
            outcome("COMPILED", stages=(parity,)),
            outcome("PASSED"),
            replace(outcome("PASSED"), device="emulator"),
        ]
    )
    assert report.proven == (
        "1 gave the original's values on a GPU; 1 gave the original's values in the emulator;"
        " 2 compiled, values not compared"
    )
    assert report.not_run == {"parity": "no GPU"}
    assert Report([]).proven == "nothing"
    suspect = Report([outcome("ORIGINAL_SUSPECT"), outcome("WRONG_VALUES")])
    assert suspect.proven == "1 not judged, as the original itself is at fault"
