"""Verdicts as feedback: the one fault that ends a candidate, with its lines."""

from __future__ import annotations

from tests.loop.scripted import COMPILED, RIGHT, wrong
from tests.loop.scripted import verdict as by_first_line
from translator.grounding.check import Unknown
from translator.loop.feedback import passed, told
from translator.loop.judged import Judged
from translator.prompts.feedback import (
    CompileError,
    Crashed,
    MemoryFault,
    StaticFindings,
    TimedOut,
    UnknownNames,
    WrongValues,
)
from verify.facts import Difference, FindingFacts, ParityFacts, RunFacts, WriterFacts
from verify.options import Options
from verify.verdict import StageResult, Status, Verdict, conclude

SOURCE = """\
import cutlass


def k_kernel(x):
    # CUDA: device.cu:2
    x[0] = 1
"""
CUDA = ("__global__ void k(float* x) {", "  x[threadIdx.x] = 1;", "}")


def judged(*stages: StageResult, source: str = SOURCE) -> Judged:
    status, proven = conclude(list(stages))
    return Judged(
        source, (), Verdict(target="t", kernel="k", status=status, proven=proven, stages=list(stages))
    )


def stage(
    name: str, status: Status, code: str | None = None, message: str = "", **facts: object
) -> StageResult:
    return StageResult.model_validate(
        {"stage": name, "target": "t", "status": status, "code": code, "message": message, **facts}
    )


STATIC = stage("static", Status.PASSED)
BUILT = stage("compile", Status.PASSED, compile=COMPILED)


def test_names_come_first_with_their_lines() -> None:
    unknown = Unknown("cute.foo", 6, 1, "attribute", ("cute.for_",))
    [found] = told(Judged(SOURCE, (unknown,)), CUDA)
    assert isinstance(found, UnknownNames)
    assert (found.names[0].name, found.names[0].source) == ("cute.foo", "x[0] = 1")


def test_a_compile_error_has_the_line_of_the_port_and_of_the_cuda_it_came_from() -> None:
    failed = stage("compile", Status.COMPILE_ERROR, "CP6102", "TypeError at /tmp/x/y/port.py:6", line=6)
    [found] = told(judged(STATIC, failed), CUDA)
    assert isinstance(found, CompileError) and found.port is not None and found.cuda is not None
    assert (found.port.line, found.port.source) == (6, "x[0] = 1")
    assert (found.cuda.line, found.cuda.source) == (2, "x[threadIdx.x] = 1;")
    assert found.message == "TypeError at port.py:6"


def test_a_static_finding_has_its_line() -> None:
    failed = stage("static", Status.REJECTED_STATIC, "CP6003", "imports os", line=1)
    [found] = told(judged(failed), CUDA)
    assert isinstance(found, StaticFindings)
    assert (found.findings[0].line, found.findings[0].source) == (1, "import cutlass")


def test_wrong_values_have_the_element_and_who_wrote_it() -> None:
    run = RunFacts(case="n=8", seed=0, values="normal", grid=(1, 1, 1), block=(8, 1, 1), counted=True)
    other = run.model_copy(update={"case": "n=1"})
    off = Difference(
        output="x",
        dtype="float32",
        rule="original",
        elements=8,
        bad=3,
        first_bad=5,
        port_value="1",
        original_value="2",
        port_writer=WriterFacts(block=(0, 0, 0), thread=(5, 0, 0), file="port.py", line=6),
        original_writer=WriterFacts(block=(0, 0, 0), thread=(5, 0, 0), file="device.cu", line=2),
    )
    facts = ParityFacts(
        runs=[other, run],
        outputs=[off],
        rule="original",
        deterministic=True,
        order_dependent=False,
        port_repeats=1,
    )
    failed = stage("parity", Status.WRONG_VALUES, "CP7012", "case n=8, seed 0: x[5]", parity=facts)
    [found] = told(judged(STATIC, BUILT, failed), CUDA)
    assert isinstance(found, WrongValues) and found.port is not None and found.original is not None
    assert (found.index, found.port_value, found.original_value, found.count) == (5, "1", "2", 3)
    assert (found.case, found.passed, found.values) == ("n=8", ("n=1",), "normal")
    assert found.port.place is not None and found.port.place.source == "x[0] = 1"
    assert found.original.place is not None and found.original.place.source == "x[threadIdx.x] = 1;"


def test_a_race_has_its_line_and_thread() -> None:
    seen = FindingFacts(
        side="port",
        code="CP8011",
        message="a race",
        case="n=8",
        file="port.py",
        line=6,
        ptx="st.global.f32",
        block=2,
        thread=7,
    )
    facts = ParityFacts(
        runs=[],
        outputs=[],
        rule="",
        deterministic=True,
        order_dependent=False,
        port_repeats=1,
        findings=[seen],
    )
    failed = stage("parity", Status.SANITIZER, "CP8011", "case n=8: a race (port.py:6)", parity=facts)
    [found] = told(judged(STATIC, BUILT, failed), CUDA)
    assert isinstance(found, MemoryFault)
    assert (found.block, found.thread, found.first.line, found.first.source) == (2, 7, 6, "x[0] = 1")


def test_a_timeout_says_its_seconds_and_case() -> None:
    failed = stage("parity", Status.TIMEOUT, "CP7003", "case n=8: took longer than 120 s")
    [found] = told(judged(STATIC, BUILT, failed), CUDA)
    assert isinstance(found, TimedOut) and (found.seconds, found.case) == (120.0, "n=8")


def test_what_no_other_kind_fits_is_told_as_it_is() -> None:
    failed = stage("parity", Status.CRASHED, "CP7002", "the process died of signal 11")
    [found] = told(judged(STATIC, BUILT, failed), CUDA)
    assert isinstance(found, Crashed) and found.message == "the process died of signal 11"


def test_a_candidate_that_passed_has_no_fault() -> None:
    right = Judged(RIGHT, (), by_first_line(RIGHT, Options()))
    assert told(right, CUDA) == []
    assert right.verdict is not None and passed(right.verdict).times == ()
    bad = Judged(wrong(3), (), by_first_line(wrong(3), Options()))
    assert len(told(bad, CUDA)) == 1
