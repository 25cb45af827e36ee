"""How parity judges what the emulator saw, on sides that answer as told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from saxpy_target import SPEC

from verify.buffers import poison_byte
from verify.parity import run_parity
from verify.plan import plan, too_large
from verify.resolve import resolve
from verify.sides import Inputs, SideError, SideRan
from verify.spec_file import parse_spec
from verify.verdict import StageResult, Status, conclude

READ = parse_spec(SPEC)
LARGE = SPEC + '[[case]]\nname = "huge"\nsizes = { n = 9000000 }\nrole = "large"\n'


def found(code: str, line: int = 3, file: str = "port.py", count: int = 1) -> dict[str, Any]:
    return {
        "code": code,
        "message": f"words for {code}",
        "file": file,
        "line": line,
        "ptx": "ld.global.f32 %f1, [%rd1]",
        "count": count,
        "block": 1,
        "thread": 2,
    }


class Told:
    """A side that computes saxpy and reports findings; `skew` is added in the given repeats."""

    def __init__(
        self,
        findings: Callable[[str, int], list[dict[str, Any]]] = lambda _case, _repeat: [],
        skew: dict[int, float] | None = None,
        error: SideError | None = None,
    ) -> None:
        self.findings = findings
        self.skew = skew or {}
        self.error = error
        self.repeats: list[int] = []

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        self.repeats.append(repeat)
        if self.error is not None:
            raise self.error
        x, y = (inputs.data[k].view(np.float32) for k in ("x", "y"))
        out = np.float32(2.5) * x + y + np.float32(self.skew.get(repeat, 0.0))
        return SideRan({"y": out.view(np.uint8)}, findings=self.findings(case, repeat))

    def restart(self) -> None:
        pass


def judged(original: Told, port: Told, text: str = SPEC) -> StageResult:
    spec = parse_spec(text)
    return run_parity("t", spec, plan(spec, (), 0, "emulator"), original, port, device="emulator")


def test_clean_sides_pass_and_the_proof_names_the_emulator() -> None:
    port = Told()
    result = judged(Told(), port)
    assert (result.status, result.code) == (Status.PASSED, None)
    assert result.parity is not None and result.parity.device == "emulator"
    assert set(port.repeats) == {0, 1, 2}
    stages = [
        StageResult(stage="static", target="t", status=Status.PASSED),
        result,
    ]
    assert " counted runs in the emulator; speed not compared" in conclude(stages)[1]


@pytest.mark.parametrize(
    ("side", "code", "status"),
    [
        ("original", "CP8011", Status.ORIGINAL_SUSPECT),
        ("original", "CP8041", Status.ORIGINAL_SUSPECT),
        ("port", "CP8001", Status.SANITIZER),
        ("port", "CP8023", Status.SANITIZER),
        ("port", "CP8041", Status.TIMEOUT),
    ],
)
def test_a_finding_decides_whatever_the_values_are(side: str, code: str, status: Status) -> None:
    bad = Told(lambda case, _: [found("CP8013"), found(code)] if case == "typical" else [])
    result = judged(*((bad, Told()) if side == "original" else (Told(), bad)))
    assert (result.status, result.code) == (status, code)
    assert f"words for {code} (port.py:3)" in result.message
    assert f"{side}:" in result.message
    assert result.line == (3 if side == "port" else None)
    assert result.parity is not None
    assert [(f.side, f.code, f.case) for f in result.parity.findings] == [
        (side, "CP8013", "typical"),
        (side, code, "typical"),
    ]


def test_a_timeout_does_not_hide_its_cause() -> None:
    result = judged(Told(), Told(lambda *_: [found("CP8041"), found("CP8021")]))
    assert result.code == "CP8021"


def test_findings_of_the_original_come_before_a_mismatch() -> None:
    racy = Told(lambda *_: [found("CP8012", file="device.cu")])
    assert judged(racy, Told(skew={0: 1.0, 1: 1.0, 2: 1.0})).status is Status.ORIGINAL_SUSPECT


def test_benign_races_are_notes_counted_by_place() -> None:
    result = judged(Told(), Told(lambda *_: [found("CP8013", count=2), found("CP8013", line=4)]))
    assert result.status is Status.PASSED
    assert result.parity is not None
    counts = {f.line: f.count for f in result.parity.findings}
    assert counts[3] == 2 * counts[4] > 4


def test_schedules_must_agree() -> None:
    port = judged(Told(), Told(skew={1: 1e-7}))
    assert (port.status, port.code) == (Status.WRONG_VALUES, "CP8051")
    original = judged(Told(skew={1: 0.5}), Told())
    assert (original.status, original.code) == (Status.ORIGINAL_SUSPECT, "CP8051")


def test_odd_values_that_only_the_original_fails_on_are_left_out() -> None:
    seen: list[str] = []

    class Picky(Told):
        def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
            ran = super().run(case, inputs, repeat)
            if np.isnan(inputs.data["x"].view(np.float32)).any():
                seen.append(case)
                ran.findings = [found("CP8001")]
            return ran

    result = judged(Picky(), Told())
    assert seen
    assert result.status is Status.PASSED
    assert result.parity is not None
    assert result.parity.findings == []
    assert any("misbehaves there" in r.note for r in result.parity.runs)


@pytest.mark.parametrize(
    ("code", "status"),
    [("CP7103", Status.NOT_RUN), ("CP7109", Status.NOT_RUN), ("CP7107", Status.AMBIGUOUS)],
)
def test_what_the_emulator_cannot_run_is_no_verdict_on_the_port(code: str, status: Status) -> None:
    result = judged(Told(), Told(error=SideError("refused", code, "add.weird")))
    assert (result.status, result.code) == (status, code)


def test_large_cases_are_left_out_by_their_work() -> None:
    result = judged(Told(), Told(), LARGE)
    assert result.parity is not None
    notes = {r.case: r.note for r in result.parity.runs}
    assert notes["huge"] == "too large for the emulator: 9000192 threads, 18000000 elements"
    assert result.status is Status.PASSED
    spec = parse_spec(LARGE)
    assert too_large(resolve(spec, spec.case[-1]), "gpu") == ""


def test_an_original_that_takes_too_long_proves_nothing() -> None:
    slow = Told(error=SideError("timeout", "CP7006", "no answer within 120 s"))
    result = judged(slow, Told())
    assert (result.status, result.code) == (Status.AMBIGUOUS, "CP7022")
    assert result.parity is not None
    assert "too large for the emulator: no answer within 120 s" in [r.note for r in result.parity.runs]


def test_the_plan_keeps_odd_values_on_small_cases() -> None:
    emulated = plan(READ, (), 0, "emulator")
    odd = ("spec", "special", "rising", "few", "tiny")
    wanted = [(c, v) for c in ("empty", "one") for v in odd]
    assert [(r.case.name, r.kind) for r in emulated] == [
        *wanted,
        ("typical", "spec"),
        ("typical", "special"),
        ("typical", "spec, shifted addresses"),
    ]
    bounded = parse_spec(SPEC.replace('role = "in"', 'role = "in"\nlow = 0').replace('"inout"', '"out"'))
    assert [r.kind for r in plan(bounded, ("one",), 0, "emulator")] == [
        "spec",
        "spec",
        "rising",
        "few",
        "spec, shifted addresses",
    ]
    fixed = parse_spec(SPEC.replace('role = "in"', 'role = "in"\ninit = "ones"').replace('"inout"', '"out"'))
    assert [r.kind for r in plan(fixed, ("one",), 0, "emulator")] == [
        "spec",
        "spec",
        "spec, shifted addresses",
    ]
    big = [r.values for r in plan(parse_spec(LARGE), ("huge",), 0, "emulator")]
    assert big == ["spec"]


NUMBERS = """
schema = 1
name = "k"
original = { kernel = "k" }
port = { entry = "k" }
launch = { grid = ["1"], block = ["1"] }
tolerance = { order_dependent = true }

[[arg]]
name = "v"
kind = "buffer"
dtype = "i32"
elems = "4"
role = "out"

[[case]]
name = "one"
sizes = {}
"""


class Leaves(Told):
    """A side that leaves these numbers, run after run; a missing one is not written."""

    def __init__(self, *runs: tuple[int | None, ...]) -> None:
        super().__init__()
        self.left = runs

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        poison = poison_byte(parse_spec(NUMBERS).buffers[0], repeat)
        left = np.full(16, poison, np.uint8).view(np.int32)
        for k, number in enumerate(self.left[repeat % len(self.left)]):
            if number is not None:
                left[k] = number
        return SideRan({"v": left.view(np.uint8)}, findings=[])


@pytest.mark.parametrize(
    ("original", "port", "code"),
    [
        # Who comes last shows in the second number: neither side can be told wrong there.
        ([(7, 1, 3, None), (7, 2, 3, None), (7, 9, 3, None)], [(7, 5, 3, None)], "CP7029"),
        ([(7, 1, 3, None), (7, 2, 3, None), (7, 9, 3, None)], [(7, 1, 3, None), (7, 5, 3, None)], "CP7029"),
        ([(7, 1, 3, None), (7, 2, 3, None), (7, 9, 3, None)], [(8, 1, 3, None)], "CP7012"),
        # Elements that the port leaves out, or writes alone, are wrong all the same.
        ([(7, 1, 3, None), (7, 2, 3, None), (7, 9, 3, None)], [(7, None, 3, None)], "CP7014"),
        ([(7, 1, 3, None), (7, 2, 3, None), (7, 9, 3, None)], [(7, 5, 3, 8)], "CP7024"),
        # The same numbers in another order: one lost and one doubled is wrong.
        ([(1, 2, 3, 4), (2, 1, 3, 4), (3, 2, 1, 4)], [(1, 1, 3, 4)], "CP7012"),
        # The same numbers in each run.
        ([(1, 2, 3, 4)], [(1, 2, 3, 5)], "CP7012"),
    ],
)
def test_whole_numbers_that_vary_in_the_original_are_no_measure(
    original: list[tuple[int | None, ...]], port: list[tuple[int | None, ...]], code: str
) -> None:
    result = judged(Leaves(*original), Leaves(*port), NUMBERS)
    assert result.code == code, result.message
    assert result.status is (Status.AMBIGUOUS if code == "CP7029" else Status.WRONG_VALUES)


QUESTION = '\n[[question]]\ncode = "CP3104"\ntext = "the size of y is unknown; n elements assumed"\n'


@pytest.mark.parametrize("original", [Told(lambda *_: [found("CP8001")]), Told(skew={1: 0.5})])
def test_the_original_is_not_blamed_for_what_was_assumed(original: Told) -> None:
    asked = judged(original, Told(), SPEC + QUESTION)
    assert (asked.status, asked.code) == (Status.AMBIGUOUS, "CP7018")
    assert "with what was assumed the original itself fails (CP80" in asked.message
    assert "CP3104: the size of y is unknown" in asked.message
    for settled in (QUESTION + 'answer = "yes"\n', QUESTION.replace("CP3104", "CP3111")):
        assert judged(original, Told(), SPEC + settled).status is Status.ORIGINAL_SUSPECT


def test_what_was_assumed_is_told_with_wrong_values() -> None:
    wrong = judged(Told(), Told(skew={0: 1.0, 1: 1.0, 2: 1.0}), SPEC + QUESTION)
    assert (wrong.status, wrong.code) == (Status.WRONG_VALUES, "CP7012")
    assert "CP3104: the size of y is unknown" in wrong.message


def test_why_nothing_was_launched_is_told() -> None:
    huge = SPEC[: SPEC.index("[[case]]")] + '[[case]]\nname = "huge"\nsizes = { n = 900000000 }\n'
    result = judged(Told(), Told(), huge + huge[huge.index("[[case]]") :].replace("huge", "other"))
    assert (result.status, result.code) == (Status.AMBIGUOUS, "CP7022")
    assert "was launched: huge: too large for the emulator" in result.message and "more" in result.message
