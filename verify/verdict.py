"""What was found: the JSON on disk. A validator ties each status to the facts that it claims."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from verify.codes import known
from verify.counts import CountFacts

StageName = Literal["static", "compile", "parity", "bench"]
STAGES: tuple[StageName, ...] = ("static", "compile", "parity", "bench")


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


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KernelResources(Strict):
    """What the machine code of one kernel takes. `spill_bytes` is the stack frame less the local arrays that
    the PTX declares (per thread, bytes)."""

    name: str
    registers: int | None = None
    frame_bytes: int = 0
    spill_bytes: int = 0
    static_shared_bytes: int = 0


class CompileFacts(Strict):
    arch: str
    compile_seconds: float
    ptx_bytes: int
    ptx_sha256: str
    cubin_bytes: int
    cubin_sha256: str
    kernels: list[KernelResources]
    features: dict[str, int] = Field(default_factory=dict)  # counts of telling PTX instructions


class Difference(Strict):
    """The worst of one output over all runs, against the original; `*_fp64` against reference.py."""

    output: str
    dtype: str
    rule: Literal["exact", "fp64", "original"]
    elements: int
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: float = 0.0
    bitwise_equal: bool = False
    port_fp64: float | None = None
    original_fp64: float | None = None
    limit: str = ""
    bad: int = 0
    first_bad: int | None = None
    port_value: str | None = None
    original_value: str | None = None
    unwritten_by_both: int = 0


class RunFacts(Strict):
    """One case with one seed and one kind of input values."""

    case: str
    seed: int
    values: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counted: bool  # a null answer (zeros, a constant, a copy of an input) fails here, for every output
    note: str = ""


class FindingFacts(Strict):
    """What the emulator saw one side do. `line` is one of `file` (0: unknown), `ptx` the instruction; `block`
    and `thread` are linear indices of where it was seen first."""

    side: Literal["original", "port"]
    code: str
    message: str
    case: str
    file: str = ""
    line: int = 0
    ptx: str = ""
    count: int = 1
    block: int = 0
    thread: int = 0


Fate = Literal["killed", "survived", "equivalent", "invalid", "unjudged"]


class MutantFacts(Strict):
    """One changed port. `line` is one of port.py, `code` what turned it away or why it was not judged; only
    survivors carry their `diff`."""

    id: str
    kind: str
    line: int
    what: str
    fate: Fate
    code: str = ""
    diff: str = ""


class MutationFacts(Strict):
    """What the runs that a port passed do with changed ports. `equivalent` ones have the port's own machine
    code, `invalid` ones are no ports any more, `unjudged` ones can't run here; the rest counts: `share` is
    killed / (killed + survived), absent where nothing counted. `available` is how many mutants the port has.
    """

    available: int
    seed: int
    seconds: float
    killed: int
    survived: int
    equivalent: int
    invalid: int
    unjudged: int
    share: float | None = None
    kinds: dict[str, dict[Fate, int]]
    codes: dict[str, int]  # of those killed
    mutants: list[MutantFacts]

    @property
    def words(self) -> str:
        """As in "mutation score 0.97 (58 of 60)"."""
        if self.share is None:
            return "no mutation score: no mutant could be judged"
        return f"mutation score {self.share:.2f} ({self.killed} of {self.killed + self.survived})"

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        fates = [m.fate for m in self.mutants]
        for fate in get_args(Fate):
            if fates.count(fate) != getattr(self, fate):
                raise ValueError(f"{getattr(self, fate)} {fate}, but {fates.count(fate)} are told")
        return self


class DoubtFacts(Strict):
    """One side's machine code on the GPU against its own PTX in the emulator. `runs` is how many agreed, by
    equal bits or, where the PTX has opcodes that leave some `left_open`, within the tolerance; `equal` of
    them had equal bits all the same. `level` is a pinned optimisation level, `right_at` that which agrees
    where the side's own does not; `message` says what differed, or why nothing was compared."""

    side: Literal["original", "port"]
    runs: int = 0
    equal: int = 0
    rule: Literal["bits", "tolerance"] = "bits"
    left_open: list[str] = Field(default_factory=list)
    level: int | None = None
    right_at: int | None = None
    message: str = ""


class ParityFacts(Strict):
    """`device` is where both sides ran; only the emulator has `findings` and `counts`, only a GPU
    beside it `doubts`."""

    device: Literal["gpu", "emulator"] = "gpu"
    runs: list[RunFacts]
    outputs: list[Difference]
    rule: str
    deterministic: bool
    order_dependent: bool
    port_repeats: int
    original: CompileFacts | None = None
    original_builder: str = ""
    open_questions: list[str] = Field(default_factory=list)
    findings: list[FindingFacts] = Field(default_factory=list)
    doubts: list[DoubtFacts] = Field(default_factory=list)
    counts: CountFacts | None = None
    mutation: MutationFacts | None = None


class Timing(Strict):
    """Kernel time of one side in microseconds."""

    median_us: float
    p10_us: float
    p90_us: float
    samples: int
    gbytes_per_s: float | None = None


class BenchFacts(Strict):
    case: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    rating: Literal["FASTER", "SAME", "SLOWER", "AMBIGUOUS"]
    ratio: float  # original time / port time: above 1 the port is faster
    ratio_low: float
    ratio_high: float
    port: Timing
    original: Timing
    method: str
    launches_per_sample: int
    buffer_sets: int
    bytes_per_launch: int
    clocks: dict[str, str] = Field(default_factory=dict)  # of the GPU, right after
    notes: list[str] = Field(default_factory=list)


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
        for name in ("compile", "parity", "bench"):
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


class Verdict(Strict):
    """All that was found for one target; replayable from the hashes, seeds and versions it records."""

    schema_version: Literal[1] = 1
    target: str
    kernel: str
    status: Status
    proven: str
    stages: list[StageResult]
    hashes: dict[str, str] = Field(default_factory=dict)
    environment: dict[str, Any] = Field(default_factory=dict)
    seed: int = 0
    created: str = ""

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
    """`kind` is usage, environment or bug."""

    kind: Literal["usage", "environment", "bug"]
    message: str


class Failure(Strict):
    """What a command's --json prints where it ended before it had a document of its own."""

    error: Cause
    exit_code: int

    @classmethod
    def of(cls, exit_code: int, message: str) -> Failure:
        kinds: dict[int, Literal["usage", "environment", "bug"]] = {2: "usage", 3: "environment"}
        return cls(error=Cause(kind=kinds.get(exit_code, "bug"), message=message), exit_code=exit_code)


class Report(Strict):
    """What `verify --json` prints."""

    schema_version: Literal[1] = 1
    exit_code: int
    verdicts: list[Verdict]


def conclude(stages: list[StageResult]) -> tuple[Status, str]:
    """The status of a target from its stages, and in words what is proven."""
    got = {s.stage: s for s in stages}
    for s in stages:
        if s.status in (Status.PASSED, Status.NOT_RUN):
            continue
        if s.stage == "bench" and s.status is Status.AMBIGUOUS:
            continue  # values are proven; only the comparison of times is open
        return s.status, f"{s.stage}: {s.code} {s.message}"
    parity, compiled = got.get("parity"), got.get("compile")
    if parity is not None and parity.status is Status.PASSED:
        assert parity.parity is not None
        words = f"equals the original in {sum(r.counted for r in parity.parity.runs)} counted runs"
        words += " in the emulator" if parity.parity.device == "emulator" else ""
        words += f"; {parity.parity.mutation.words}" if parity.parity.mutation is not None else ""
        bench = got.get("bench")
        if bench is not None and bench.bench is not None:
            words += f"; {bench.bench.ratio:.3f}x of the original's speed ({bench.bench.rating})"
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
