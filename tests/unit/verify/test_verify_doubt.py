"""Machine code against its PTX, on sides that answer as told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from saxpy_target import SPEC

from verify.doubt import Witness, conclude, examine, runs_to_doubt
from verify.doubt_jobs import open_in
from verify.emulator.ptx.parse import parse
from verify.facts import DoubtFacts, ParityFacts, RunFacts
from verify.judge import Outputs
from verify.levels import below, ptxas_option
from verify.plan import plan
from verify.sides import Inputs, SideError, SideRan
from verify.spec import Spec
from verify.spec_file import SpecError, parse_spec
from verify.verdict import StageResult, Status

READ = parse_spec(SPEC)
RUNS = runs_to_doubt(READ, (), 0)
RACE = {
    "code": "CP8011",
    "message": "race",
    "file": "",
    "line": 0,
    "ptx": "st",
    "count": 1,
    "block": 0,
    "thread": 0,
}
EXACT: dict[str, Any] = {"free": [], "atomics": False, "place": []}
FREE = {**EXACT, "free": ["ex2.approx.f32"]}

Answer = Callable[[np.ndarray], np.ndarray] | SideError


def right(y: np.ndarray) -> np.ndarray:
    return y


def far(y: np.ndarray) -> np.ndarray:
    return y + np.float32(1)


def near(y: np.ndarray) -> np.ndarray:
    """One bit away."""
    return np.nextafter(y, np.float32(np.inf))


class Told:
    """A side whose answers to saxpy are changed by `answers`, by level; a list goes round."""

    def __init__(
        self, answers: dict[int | None, Answer | list[Answer]], findings: list[Any] | None = None
    ) -> None:
        self.answers = answers
        self.level: int | None = None
        self.levels: list[int | None] = []
        self.findings = findings or []
        self.ran = 0
        self.restarts = 0

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        told = self.answers[self.level]
        answer = told[self.ran % len(told)] if isinstance(told, list) else told
        self.ran += 1
        if isinstance(answer, SideError):
            raise answer
        x, y = (inputs.data[k].view(np.float32) for k in ("x", "y"))
        outputs: Outputs = {"y": answer(np.float32(2.5) * x + y).view(np.uint8)}
        return SideRan(dict(outputs), findings=self.findings)

    def restart(self) -> None:
        self.restarts += 1

    def at(self, level: int | None) -> None:
        self.level = level
        self.levels.append(level)
        if level is not None and level not in self.answers:
            raise SideError("refused", "CP7001", "it does not build")


def doubted(
    machine: Told,
    *,
    meaning: Told | None = None,
    nature: dict[str, Any] = EXACT,
    spec: Spec = READ,
    level: int | None = None,
) -> DoubtFacts:
    witness = Witness(
        "port", machine, meaning or Told({None: right}), lambda: nature, machine.at, below(level), level
    )
    return examine(spec, RUNS, witness, None)


def passed() -> StageResult:
    run = RunFacts(case="one", seed=0, values="spec", grid=(1, 1, 1), block=(1, 1, 1), counted=True)
    facts = ParityFacts(
        runs=[run], outputs=[], rule="exact", deterministic=True, order_dependent=False, port_repeats=3
    )
    return StageResult(stage="parity", target="t", status=Status.PASSED, parity=facts)


def test_machine_code_that_agrees_is_not_doubted() -> None:
    found = doubted(Told({None: right}))
    assert found == DoubtFacts(side="port", runs=len(RUNS), equal=len(RUNS))
    result = conclude(passed(), [found])
    assert (result.status, result.code) == (Status.PASSED, None)
    assert result.parity is not None and result.parity.doubts == [found]


def test_one_bit_is_enough_where_the_ptx_leaves_none_open() -> None:
    found = doubted(Told({None: near, 2: near, 1: right, 0: right}))
    assert (found.right_at, found.rule) == (1, "bits")


def test_approximate_opcodes_leave_a_tolerance_and_no_more() -> None:
    close = doubted(Told({None: near}), nature=FREE)
    assert (close.message, close.rule, close.left_open) == ("", "tolerance", ["ex2.approx.f32"])
    wrong = doubted(Told({None: far, 2: near, 1: right, 0: right}), nature=FREE)
    assert wrong.right_at == 2


def test_a_port_that_differs_is_miscompiled_and_the_level_is_named() -> None:
    machine = Told({None: far, 2: far, 1: right, 0: right})
    found = doubted(machine)
    assert machine.levels == [2, 1, None]  # from the highest, and back to its own
    assert found.right_at == 1
    result = conclude(passed(), [DoubtFacts(side="original"), found])
    assert (result.status, result.code) == (Status.MISCOMPILED, "CP7032")
    assert "the machine code gives" in result.message and "its PTX means" in result.message
    assert "at --opt-level 3; right at --opt-level 1 (opt_level of [port])" in result.message


def test_a_suspect_original_says_how_the_port_compares() -> None:
    original = DoubtFacts(side="original", right_at=1, message="case one: o[3]: gives 26, means 6268")
    result = conclude(
        passed(), [original, DoubtFacts(side="port", runs=3)], "the port gives what that PTX means"
    )
    assert (result.status, result.code) == (Status.ORIGINAL_SUSPECT, "CP7031")
    assert result.message == (
        "case one: o[3]: gives 26, means 6268; right at --ptxas-options=-O1 (flags of [original]); "
        "the port gives what that PTX means"
    )


def test_both_sides_may_be_wrong() -> None:
    sides = [DoubtFacts(side=s, right_at=1, message=f"{s} differs") for s in ("original", "port")]
    result = conclude(passed(), sides)
    assert result.status is Status.ORIGINAL_SUSPECT
    assert "the port's machine code is wrong too: port differs at --opt-level 3" in result.message


def test_a_difference_at_every_level_blames_no_assembler() -> None:
    found = doubted(Told({None: far, 2: far, 1: far, 0: far}))
    assert found.right_at is None and "so at every lower level" in found.message
    assert conclude(passed(), [found]).status is Status.PASSED


def test_a_level_that_does_not_build_shows_nothing() -> None:
    machine = Told({None: far})
    assert doubted(machine).right_at is None
    assert machine.levels[-1] is None


def test_a_difference_that_comes_and_goes_blames_nothing() -> None:
    assert doubted(Told({None: [far, right], 2: right})).message == ""
    flickers = doubted(Told({None: far, 2: [far, far, far, right, far, right, far], 1: far, 0: far}))
    assert flickers.right_at is None


def test_a_pinned_level_is_the_one_that_is_doubted() -> None:
    machine = Told({None: far, 0: right})
    found = doubted(machine, level=1)
    assert (machine.levels, found.right_at) == ([0, None], 0)
    assert "at --opt-level 1; right at --opt-level 0" in conclude(passed(), [found]).message


def test_machine_code_that_never_ends_is_doubted_too() -> None:
    hangs = SideError("timeout", "CP7005", "no answer within 120 s")
    machine = Told({None: hangs, 2: right})
    found = doubted(machine)
    assert (found.right_at, machine.restarts) == (2, 3)
    assert "the machine code ends with CP7005" in found.message


@pytest.mark.parametrize(
    ("meaning", "nature", "why"),
    [
        (Told({None: SideError("refused", "CP7103", "wgmma")}), EXACT, "CP7103 wgmma"),
        (Told({None: right}), {**EXACT, "place": ["%clock"]}, "the kernel reads %clock"),
        (
            Told(
                {None: right},
                [RACE],
            ),
            EXACT,
            "CP8011 race (st)",
        ),
    ],
)
def test_what_the_ptx_does_not_decide_is_not_compared(
    meaning: Told, nature: dict[str, Any], why: str
) -> None:
    found = doubted(Told({None: far, 2: right}), meaning=meaning, nature=nature)
    assert (found.right_at, found.runs, found.message) == (None, 0, f"not compared: {why}")


def test_atomics_are_given_the_spread_of_several_orders() -> None:
    meaning = Told({None: [right, far, right, far]})
    between = Told({None: lambda y: y + np.float32(0.5), 2: right})
    assert doubted(between, meaning=meaning, nature={**EXACT, "atomics": True}).message == ""


def test_small_runs_are_chosen_and_the_failed_one_comes_first() -> None:
    assert [str(r) for r in RUNS] == [
        "case one, seed 0, values spec",
        "case typical, seed 0, values spec",
    ]
    failed = next(r for r in plan(READ, (), 0) if r.case.name == "typical" and r.values == "large")
    facts = RunFacts(
        case="typical", seed=failed.seed, values="large", grid=(1, 1, 1), block=(1, 1, 1), counted=False
    )
    assert runs_to_doubt(READ, (), 0, facts) == [failed, *RUNS]


def test_the_ptx_says_what_it_leaves_open() -> None:
    text = """
.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
    .reg .f32 %f<5>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [k_param_0];
    add.rn.f32 %f1, %f2, %f3;
    BODY
    ret;
}
"""
    assert open_in([parse(text.replace("BODY", ""))]) == EXACT
    free = open_in([parse(text.replace("BODY", "add.f32 %f1, %f2, %f3; ex2.approx.ftz.f32 %f4, %f1;"))])
    assert free["free"] == ["add.f32", "ex2.approx.ftz.f32"]
    atomic = open_in([parse(text.replace("BODY", "atom.global.add.u32 %r1, [%rd1], 1;"))])
    assert atomic["atomics"]
    assert open_in([parse(text.replace("BODY", "mov.u32 %r1, %clock;"))])["place"] == ["%clock"]


def test_levels() -> None:
    assert (below(None), below(1), below(0)) == ((2, 1, 0), (0,), ())
    assert ptxas_option(1) == "--ptxas-options=-O1"
    with pytest.raises(SpecError, match="opt_level"):
        parse_spec(SPEC.replace('module = "port.py"', 'module = "port.py"\nopt_level = 4'))
