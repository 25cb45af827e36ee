"""Which mutants are tried, what is asked for only once, and what a score does to the exit code."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from pydantic import ValidationError

import verify.__main__ as command
from verify import isolate
from verify.__main__ import exit_code
from verify.check.told import findings_of_verdicts, suites_of_verdicts
from verify.facts import MutationFacts, ParityFacts
from verify.isolate import end_all
from verify.mutate.generate import Mutant, choose
from verify.mutate.remembered import Remembered, remembered
from verify.mutate.score import Judged, Ruling, facts_of
from verify.mutate.trial import _all
from verify.options import Options, mutate_of, score_of, with_values
from verify.sides import Inputs, SideError, SideRan
from verify.verdict import Report, StageResult, Status, Verdict


class Counting:
    """A side whose outputs say how often it ran; it fails in repeat 7."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        self.runs += 1
        time.sleep(0.01)  # long enough for others to ask meanwhile
        if repeat == 7:
            raise SideError("refused", "CP7002", "no")
        return SideRan({"y": np.array([self.runs], np.uint8)})

    def restart(self) -> None:
        raise AssertionError


def inputs(value: int, name: str = "x") -> Inputs:
    return Inputs({name: np.array([value, 1], np.uint8)}, Path())


def test_the_original_runs_once_for_the_same_inputs() -> None:
    side = Counting()
    kept = Remembered(side)

    def asked(case: str, value: int, repeat: int) -> int:
        return int(kept.run(case, inputs(value), repeat).outputs["y"][0])

    assert [asked("a", 0, 0), asked("b", 0, 0), asked("a", 1, 0), asked("a", 0, 1)] == [1, 2, 3, 4]
    assert [asked("a", 0, 0), asked("b", 0, 0), asked("a", 1, 0), asked("a", 0, 1)] == [1, 2, 3, 4]


def test_threads_that_ask_for_the_same_wait_for_one_answer() -> None:
    side = Counting()
    kept, at_once = Remembered(side), Barrier(4)

    def ask(_: int) -> int:
        at_once.wait()
        return int(kept.run("a", inputs(0), 0).outputs["y"][0])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [1, 1, 1, 1]
    assert side.runs == 1


def test_what_the_original_refuses_it_refuses_again() -> None:
    side = Counting()
    kept = Remembered(side)
    for _ in range(3):
        with pytest.raises(SideError, match="no"):
            kept.run("a", inputs(0), 7)
    assert side.runs == 1


def test_keys_tell_names_values_and_lengths_apart() -> None:
    long = Inputs({"x": np.array([0, 1, 0], np.uint8)}, Path())
    keys = [i.key() for i in (inputs(0), inputs(1), inputs(0, "y"), long)]
    assert len(set(keys)) == 4
    assert inputs(0).key() == keys[0]


def test_the_reference_is_asked_once() -> None:
    asked: list[str] = []

    def reference(case: str, _inputs: Inputs) -> dict[str, np.ndarray]:
        asked.append(case)
        return {"y": np.array([len(asked)], np.float64)}

    ask = remembered(reference)
    assert [ask(c, inputs(0))["y"][0] for c in "aabab"] == [1, 1, 2, 1, 2]
    assert asked == ["a", "b"]


class Ruler:
    """A trial that gives all up while it judges the second mutant."""

    died, judged = "CP7005", 0

    def judge(self, source: str) -> Ruling:
        Ruler.judged += 1
        if Ruler.judged == 2:
            end_all()
        return Ruling(Status.PASSED)


@pytest.mark.parametrize("trials", [1, 2])
def test_nothing_more_is_judged_once_the_work_is_given_up(
    trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolate, "_LIVE", set())  # other tests' children stay
    Ruler.judged = 0
    with pytest.raises(SideError, match="given up"):
        list(_all(made("operator", 40), [Ruler() for _ in range(trials)]))
    assert 2 <= Ruler.judged <= 2 + trials


def made(kind: str, count: int) -> list[Mutant]:
    return [Mutant(f"{kind}-1-{k}", kind, 1, "", "") for k in range(count)]


def test_some_takes_every_sly_one_and_a_sample_of_the_rest() -> None:
    every = made("guard", 20) + made("operator", 100) + made("barrier", 3)
    some = choose(every, "some")
    assert [m.id for m in some if m.kind != "operator"] == [m.id for m in every if m.kind != "operator"]
    assert len(some) == 40
    assert some == [m for m in every if m in some]
    crowd = made("bound", 90) + made("operator", 100)
    assert len(choose(crowd, "some")) == 102
    assert choose(every, "all") == every
    assert len(choose(every, 7)) == 7
    assert choose(every, "some", 1) != some


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--mutate", "d"], ["--mutate=some", "d"]),
        (["d", "--mutate"], ["d", "--mutate=some"]),
        (["--mutate", "12", "d"], ["--mutate=12", "d"]),
        (["--mutate", "all", "all"], ["--mutate=all", "all"]),
        (["--mutate=3", "12"], ["--mutate=3", "12"]),
        (["--seed", "12"], ["--seed", "12"]),
    ],
)
def test_mutate_may_stand_alone(given: list[str], meant: list[str]) -> None:
    assert with_values(given) == meant


def test_what_the_options_say() -> None:
    assert [mutate_of(t) for t in ("", "some", "all", "5")] == [None, "some", "all", 5]
    assert [score_of("", None), score_of("0.95", 5)] == [None, 0.95]
    for text in ("0", "-1", "1.5", "most"):
        with pytest.raises(ValueError, match="neither a number"):
            mutate_of(text)
    for text in ("1.01", "-0.1", "nan", "x"):
        with pytest.raises(ValueError, match="no share"):
            score_of(text, 5)
    with pytest.raises(ValueError, match="needs --mutate"):
        score_of("0.5", None)


def facts(killed: int, survived: int, same: int = 0) -> MutationFacts:
    rulings = [Ruling(Status.WRONG_VALUES, "CP7012")] * killed + [Ruling(Status.PASSED)] * survived
    rulings += [Ruling(Status.PASSED, same_code=True)] * same
    every = [Judged(Mutant(f"m-{k}", "bound", 2, "b → c", "a\nc\n"), r) for k, r in enumerate(rulings)]
    return facts_of(every, "a\nb\n", "port.py", 99, 0, 1.0)


def test_the_facts_add_up_and_only_survivors_show_their_change() -> None:
    found = facts(58, 2, 4)
    assert found.words == "mutation score 0.97 (58 of 60)"
    assert (found.available, found.equivalent, found.share) == (99, 4, 0.9667)
    assert (found.kinds, found.codes) == (
        {"bound": {"killed": 58, "survived": 2, "equivalent": 4}},
        {"CP7012": 58},
    )
    assert {m.fate for m in found.mutants if m.diff} == {"survived"}
    assert "-b\n+c\n" in next(m.diff for m in found.mutants if m.fate == "survived")
    assert MutationFacts.model_validate(found.model_dump()) == found
    with pytest.raises(ValidationError, match="3 survived, but 2 are told"):
        MutationFacts.model_validate(found.model_dump() | {"survived": 3})


def verdict(mutation: MutationFacts | None) -> Verdict:
    parity = ParityFacts(
        runs=[], outputs=[], rule="exact", deterministic=True, order_dependent=False, port_repeats=1
    ).model_copy(update={"mutation": mutation})
    stage = StageResult(stage="parity", target="t", status=Status.NOT_RUN, message="no").model_copy(
        update={"parity": parity}
    )
    return Verdict.model_construct(target="t", kernel="k", status=Status.PASSED, proven="", stages=[stage])


@pytest.mark.parametrize(
    ("mutation", "least", "code"),
    [
        (facts(1, 9), None, 0),
        (facts(9, 1), 0.9, 0),
        (facts(9, 1), 0.91, 1),
        (facts(0, 0, 5), 0.0, 1),  # nothing was judged: that is no score
        (None, 0.9, 0),  # nothing passed: its status has its own code
    ],
)
def test_a_score_fails_only_what_was_asked_of_it(
    mutation: MutationFacts | None, least: float | None, code: int
) -> None:
    options = Options(mutate="some", min_score=least)
    assert exit_code([verdict(mutation)], options) == code
    assert exit_code([verdict(facts(5, 0)), verdict(mutation)], options) == code


def test_a_score_that_is_too_low_is_told_wherever_results_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [verdict(facts(9, 1)), verdict(facts(10, 0)), verdict(facts(0, 0, 5))]
    names = [str(tmp_path / name) for name in ("low", "good", "none")]
    given = [v.model_copy(update={"target": n}) for v, n in zip(given, names, strict=True)]
    monkeypatch.setattr(command, "verify_targets", lambda *_, **__: iter(given))
    monkeypatch.setattr(command, "Report", Report.model_construct)  # these verdicts hold little
    low, none = (
        f"the mutation score is to be at least 0.95, and {words}" for words in ("it is 0.9", "there is none")
    )
    report = []

    def keep(made: Report) -> int:
        report.append(made)
        return made.exit_code

    options = Options(mutate="some", min_score=0.95)
    assert command.check([tmp_path], options, on_report=keep) == 1
    said = capsys.readouterr().err
    assert f"low: CP7061: {low}" in said and f"none: CP7061: {none}" in said and "good: CP7061" not in said
    told = [f for f in findings_of_verdicts(given, report[0].remarks) if f.code == "CP7061"]
    assert [(f.target, f.level, f.message) for f in told] == [
        (names[0], "error", low),
        (names[2], "error", none),
    ]
    suites = suites_of_verdicts(given, report[0].remarks)
    states = [[c.state for c in s.cases if c.name == "mutants"] for s in suites]
    assert states == [["failure"], [], ["failure"]]
