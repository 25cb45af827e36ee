"""Each way in which a wrong port passes elsewhere is stopped here; odd but right ports are not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adversarial.candidates import CHEATS, HOME, RIGHT, WAYS, Candidate, table
from verify import run
from verify.environment import find_gpu
from verify.flags import given
from verify.floor import traffic_of
from verify.options import Options
from verify.resolve import resolve
from verify.run import verify_targets
from verify.spec_file import load_spec
from verify.static import check_static
from verify.verdict import STAGES, StageName, StageResult, Status, Verdict

TIMED = frozenset({2, 6, 7, 17, 20, 24, 25})  # rows that stages after parity have to see


def passed(target: Path, _module: str, _entry: str) -> StageResult:
    return StageResult(stage="static", target=str(target), status=Status.PASSED)


def judged(
    folder: Path, candidates: Sequence[Candidate], device: Any, *, read: bool, timed: bool = False
) -> dict[str, Verdict]:
    """Verdicts by name. Without `read` the static stage is set aside: what stops a port then?"""
    targets = [c.write(folder) for c in candidates]
    with pytest.MonkeyPatch.context() as patched:
        if not read:
            patched.setattr(run, "check_static", passed)
        stages: tuple[StageName, ...] = STAGES if timed else ("static", "compile", "parity")
        options = Options(device=device, timeout=60.0, stages=stages, jobs=12 if device == "gpu" else 1)
        return {Path(v.target).name: v for v in verify_targets(targets, options)}


def outcome(verdict: Verdict) -> str:
    """The status and the code that gave it."""
    codes = [s.code for s in verdict.stages if s.status is verdict.status and s.code]
    return " ".join([verdict.status, *codes[:1]])


def assert_outcome(verdict: Verdict, expected: str) -> None:
    if expected == "not PASSED":
        assert verdict.status is not Status.PASSED, verdict.proven
    else:
        assert outcome(verdict) in expected.split(" or "), verdict.proven


def params(device: str) -> list[Any]:
    found = []
    for c in CHEATS:
        if getattr(c, device):
            where, _, why = c.open.partition(": ")
            marks = [pytest.mark.xfail(strict=True, reason=why)] if where == device else []
            found.append(pytest.param(c, id=f"{c.row}-{c.name}", marks=marks))
    return found


def by_name(candidates: Sequence[Candidate]) -> list[Any]:
    return [pytest.param(c, id=c.name) for c in candidates]


# by reading alone


@pytest.mark.parametrize("candidate", by_name(CHEATS))
def test_reading_stops_what_it_can(candidate: Candidate, tmp_path: Path) -> None:
    target = candidate.write(tmp_path)
    got = check_static(target, "port.py", candidate.base)
    assert got.code == (candidate.static or None), got.message


@pytest.mark.parametrize("candidate", by_name(RIGHT))
def test_reading_lets_right_ports_pass(candidate: Candidate, tmp_path: Path) -> None:
    got = check_static(candidate.write(tmp_path), "port.py", candidate.base)
    assert got.code is None, got.message


# in the emulator


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    chosen = [c for c in CHEATS if c.emulator]
    return judged(tmp_path_factory.mktemp("emulated"), chosen, "emulator", read=False)


@pytest.mark.dsl
@pytest.mark.parametrize("candidate", params("emulator"))
def test_the_emulator_stops_it(candidate: Candidate, emulated: dict[str, Verdict]) -> None:
    found = emulated[candidate.name]
    assert_outcome(found, candidate.emulator)
    written = json.loads((Path(found.target) / "verdict.json").read_text(encoding="utf-8"))
    assert written["status"] == found.status


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    return judged(tmp_path_factory.mktemp("right"), RIGHT, "emulator", read=True)


@pytest.mark.dsl
@pytest.mark.parametrize("candidate", by_name(RIGHT))
def test_the_emulator_lets_right_ports_pass(candidate: Candidate, right: dict[str, Verdict]) -> None:
    assert outcome(right[candidate.name]) == "PASSED", right[candidate.name].proven


@pytest.mark.dsl
def test_what_row_7_leaves_undone_can_still_be_told(right: dict[str, Verdict]) -> None:
    """A buffer that the original touches in part forbids no time: of this kernel it touches all."""
    (cheat,) = (c for c in CHEATS if c.name == "skips_what_is_done")
    chosen = next(c for c in RIGHT if c.base == cheat.base and not {"spec", "device"} & set(c.edits))
    parity = right[chosen.name].stage("parity")
    assert parity is not None and parity.parity is not None
    assert parity.parity.counts is not None
    spec = load_spec(Path(right[chosen.name].target))
    large = spec.case[-1].model_copy(update={"name": "large", "sizes": {"n": 1 << 25}})
    assert traffic_of(spec, resolve(spec, large), parity.parity.counts).certain == (1 << 28, 1 << 27)


# on a GPU: python3 -m pytest tests/adversarial -m gpu


@pytest.fixture(scope="module")
def on_gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    gpu, why = find_gpu()
    if gpu is None:
        pytest.skip(why)
    chosen = [*(c for c in CHEATS if c.gpu), *RIGHT]
    found: dict[str, Verdict] = {}
    for timed in (False, True):  # what needs no later stage is spared them: they take seconds each
        some = [c for c in chosen if (c.row in TIMED) == timed]
        found |= judged(tmp_path_factory.mktemp("gpu"), some, "gpu", read=False, timed=timed)
    return found


@pytest.mark.gpu
@pytest.mark.parametrize("candidate", params("gpu"))
def test_the_gpu_stops_it(candidate: Candidate, on_gpu: dict[str, Verdict]) -> None:
    assert_outcome(on_gpu[candidate.name], candidate.gpu)


@pytest.mark.gpu
@pytest.mark.parametrize("candidate", by_name(RIGHT))
def test_the_gpu_lets_right_ports_pass(candidate: Candidate, on_gpu: dict[str, Verdict]) -> None:
    """Among others that crash: row 21."""
    assert on_gpu[candidate.name].status is Status.PASSED, on_gpu[candidate.name].proven


@pytest.mark.gpu
def test_a_plan_at_each_call_shows_in_the_other_clocks(on_gpu: dict[str, Verdict]) -> None:
    """Row 25: the kernel is as fast as ever; the launch is not."""
    bench = on_gpu["plans_at_the_first_call"].stage("bench")
    assert bench is not None and bench.bench is not None
    assert bench.bench.launch["port"].call.median_us > 2_000 > bench.bench.launch["original"].call.median_us
    assert set(bench.bench.first_call) == {"port", "original"}


@pytest.mark.gpu
def test_an_unoptimised_original_is_no_opponent(on_gpu: dict[str, Verdict]) -> None:
    """Row 24: the values are proven; nothing is claimed of the speed."""
    bench = on_gpu["unoptimised_build"].stage("bench")
    assert bench is not None and (bench.status, bench.code) == (Status.AMBIGUOUS, "CP9102")
    assert "no fair opponent" in bench.message


def test_a_debug_build_is_not_given_to_the_compiler() -> None:
    """Row 24."""
    assert given(["-G", "-O3"], "nvcc")[0] == ["-O3"]


# the tables themselves


def test_every_way_has_a_candidate_and_every_candidate_is_stopped() -> None:
    assert sorted(WAYS) == list(range(1, 29))
    assert {c.row for c in CHEATS} == set(WAYS)
    for c in CHEATS:
        assert c.static or c.emulator or c.gpu, c.name
    names = [c.name for c in (*CHEATS, *RIGHT)]
    assert len(names) == len(set(names))


def test_the_bases_are_right_to_read(tmp_path: Path) -> None:
    for base in sorted((HOME / "bases").iterdir()):
        spec = load_spec(base)
        assert check_static(base, spec.port.module, spec.port.entry).code is None


def test_the_readme_has_the_table() -> None:
    assert table() in (HOME / "README.md").read_text(encoding="utf-8")
