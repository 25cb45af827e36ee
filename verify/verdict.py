"""What was found: the JSON on disk. A validator ties each status to the facts that it claims."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from verify.algorithm import AlgorithmDiff
from verify.blame import blame
from verify.codes import known
from verify.facts import BenchFacts, CompileFacts, ParityFacts, SanitizeFacts, Strict
from verify.notes import in_words, warned

StageName = Literal["static", "compile", "parity", "sanitize", "bench"]
STAGES: tuple[StageName, ...] = ("static", "compile", "parity", "sanitize", "bench")


class Status(StrEnum):
    """Every outcome has exactly one of these; nothing else may stand for 'not run'."""

    PASSED = "PASSED"
    COMPILED = "COMPILED"
    REFUSED = "REFUSED"
    REJECTED_STATIC = "REJECTED_STATIC"
    COMPILE_ERROR = "COMPILE_ERROR"
    LAUNCH_ERROR = "LAUNCH_ERROR"
    WRONG_SHAPE = "WRONG_SHAPE"
    WRONG_DTYPE = "WRONG_DTYPE"
    WRONG_VALUES = "WRONG_VALUES"
    ORIGINAL_SUSPECT = "ORIGINAL_SUSPECT"
    MISCOMPILED = "MISCOMPILED"
    SANITIZER = "SANITIZER"
    TIMEOUT = "TIMEOUT"
    CRASHED = "CRASHED"
    SLOWER = "SLOWER"
    AMBIGUOUS = "AMBIGUOUS"
    NOT_RUN = "NOT_RUN"


class StageResult(Strict):
    """What one stage found for one target. `line` is a line of port.py."""

    stage: StageName
    target: str
    status: Status
    code: str | None = None
    message: str = ""
    line: int | None = None
    seconds: float = 0.0
    compile: CompileFacts | None = None
    parity: ParityFacts | None = None
    sanitize: SanitizeFacts | None = None
    bench: BenchFacts | None = None

    @model_validator(mode="after")
    def _facts_fit(self) -> Self:
        if self.code is not None and not known(self.code):
            raise ValueError(f"unknown code {self.code}")
        if self.status is Status.NOT_RUN and not self.message:
            raise ValueError("NOT_RUN says why")
        if self.status not in (Status.PASSED, Status.NOT_RUN) and self.code is None:
            raise ValueError(f"{self.status} needs a code")
        if self.status is Status.PASSED and self.code is not None:
            raise ValueError("PASSED carries no code")
        for name in ("compile", "parity", "sanitize", "bench"):
            if getattr(self, name) is not None and self.stage != name:
                raise ValueError(f"{name} facts in a {self.stage} stage")
        if self.status is Status.PASSED and self.stage != "static" and getattr(self, self.stage) is None:
            raise ValueError(f"a passed {self.stage} stage carries its facts")
        if self.status is Status.PASSED and self.parity is not None:
            if not any(r.counted for r in self.parity.runs):
                raise ValueError("zero counted runs prove nothing")
            if self.parity.open_questions:
                raise ValueError("an open question forbids PASSED")
        return self


class Asked(Strict):
    """What a run was asked to do. `device` is where values were compared; `arch` what was compiled for."""

    stages: list[StageName]
    cases: list[str] = Field(default_factory=list)  # empty: all
    device: Literal["gpu", "emulator", "none"]
    arch: str
    timeout: float
    mutate: int | Literal["some", "all"] | None = None


class Verdict(Strict):
    """All that was found for one target; replayable from the hashes, seeds and versions it records."""

    schema_version: Literal[1] = 1
    target: str
    kernel: str
    status: Status
    proven: str
    stages: list[StageResult]
    algorithm: AlgorithmDiff | None = None  # where both sides were compiled
    hashes: dict[str, str] = Field(default_factory=dict)
    environment: dict[str, Any] = Field(default_factory=dict)
    seed: int = 0
    asked: Asked | None = None
    created: str = ""
    seal: str = ""  # sha256 of the rest

    def stage(self, name: StageName) -> StageResult | None:
        return next((s for s in self.stages if s.stage == name), None)

    @model_validator(mode="after")
    def _status_fits(self) -> Self:
        got = {s.stage: s.status for s in self.stages}
        if self.status is Status.PASSED:
            if any(got.get(s) is not Status.PASSED for s in ("static", "compile", "parity")):
                raise ValueError("PASSED needs static, compile and parity PASSED")
        elif self.status is Status.COMPILED:
            if (
                got.get("compile") is not Status.PASSED
                or got.get("parity", Status.NOT_RUN) is not Status.NOT_RUN
            ):
                raise ValueError("COMPILED means compiled and parity not run")
        elif self.status is not Status.NOT_RUN and self.status not in got.values():
            raise ValueError(f"no stage ended with {self.status}")
        if got.get("bench", Status.NOT_RUN) is not Status.NOT_RUN and got.get("parity") is not Status.PASSED:
            raise ValueError("no timing without parity")
        return self


class Cause(Strict):
    """`kind` is refused, usage, environment, bug or interrupted."""

    kind: Literal["refused", "usage", "environment", "bug", "interrupted"]
    message: str


class Failure(Strict):
    """What a command's --json prints where it ended before it had a document of its own."""

    error: Cause
    exit_code: int

    @classmethod
    def of(cls, exit_code: int, message: str) -> Failure:
        kinds: dict[int, Literal["refused", "usage", "environment", "interrupted"]] = {
            1: "refused",
            2: "usage",
            3: "environment",
            130: "interrupted",
        }
        return cls(error=Cause(kind=kinds.get(exit_code, "bug"), message=message), exit_code=exit_code)


class Remark(Strict):
    """What is to be said of a target besides its verdict; with a code where it fails the run."""

    target: str
    code: str | None = None
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.code else self.message


class Report(Strict):
    """What `verify --json` prints."""

    schema_version: Literal[1] = 1
    exit_code: int
    verdicts: list[Verdict]
    remarks: list[Remark] = Field(default_factory=list)


def conclude(stages: list[StageResult]) -> tuple[Status, str]:
    """The status of a target from its stages, and in words what is proven."""
    got = {s.stage: s for s in stages}
    for s in stages:
        if s.status in (Status.PASSED, Status.NOT_RUN):
            continue
        if s.stage == "bench" and s.status is Status.AMBIGUOUS:
            continue  # values are proven; only the comparison of times is open
        suspect = f"{blame(s.code)}; " if s.status is Status.ORIGINAL_SUSPECT else ""
        return s.status, f"{suspect}{s.stage}: {s.code} {s.message}"
    parity, compiled = got.get("parity"), got.get("compile")
    if parity is not None and parity.status is Status.PASSED:
        assert parity.parity is not None
        words = f"equals the original in {sum(r.counted for r in parity.parity.runs)} counted runs"
        words += " in the emulator" if parity.parity.device == "emulator" else ""
        words += _compared(parity.parity)
        words += f"; {parity.parity.mutation.words}" if parity.parity.mutation is not None else ""
        words += _sanitized(got.get("sanitize"))
        for f in warned(parity.parity.findings):
            words += f"; warning: unlike the original, {f.code} {in_words(f)}"
        bench = got.get("bench")
        if bench is not None and bench.bench is not None:
            words += f"; {bench.bench.ratio:.3f}x of the original's speed ({bench.bench.rating})"
            for other in bench.bench.also:
                words += f", {other.ratio:.3f}x in case {other.case} ({other.rating})"
        else:
            words += "; speed not compared"
        return Status.PASSED, words
    if compiled is not None and compiled.status is Status.PASSED:
        assert compiled.compile is not None
        why = parity.message if parity is not None else "parity was not asked for"
        return Status.COMPILED, f"compiles for {compiled.compile.arch}; values not compared: {why}"
    reason = next(
        (f"{s.stage}: {s.message}" for s in stages if s.status is Status.NOT_RUN), "nothing was asked for"
    )
    return Status.NOT_RUN, f"nothing: {reason}"


def _compared(facts: ParityFacts) -> str:
    """What was not compared element by element in place."""
    free = [d.output for d in facts.outputs if d.compared]
    words = f"; {', '.join(free)} in any order" if free else ""
    if facts.not_compared:
        words += f"; scratch memory not compared: {', '.join(facts.not_compared)}"
    return words


def _sanitized(stage: StageResult | None) -> str:
    """What is proven of faults that right values can hide."""
    if stage is None or stage.sanitize is None or stage.status is not Status.PASSED:
        return "" if stage is None or stage.code is None else "; sanitizers not run"
    ran = [t.name for t in stage.sanitize.tools if t.side == "port" and not t.why]
    return f"; sanitizers clean ({', '.join(ran)})"
