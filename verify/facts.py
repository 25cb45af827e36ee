"""The facts of each stage, as a verdict records them. Counts and sizes say their units."""

from __future__ import annotations

from typing import Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from verify.counts import CountFacts
from verify.instructions import CodeFacts


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
    floats: list[str] = Field(default_factory=list)  # float types that the PTX names
    narrowings: list[str] = Field(default_factory=list)  # those of them that it rounds to, see verify.floats
    code: CodeFacts | None = None
    machine: dict[str, int] = Field(default_factory=dict)  # see disassembly; only where it was asked for


class ErrorFacts(Strict):
    """How far one side is off over all runs, NaN and infinities apart: against reference.py where there is
    one, else the port against the original. `max_ulp` and `histogram` are in units in the last place of the
    right value; the histogram counts elements whose error is 0, below 1/2, below 1, below 2, below 4 and so
    on, the last all that is larger."""

    max_abs: float
    max_rel: float
    max_ulp: float
    histogram: list[int]


class WriterFacts(Strict):
    """The thread that wrote an element last, and where in its source."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    file: str = ""
    line: int = 0


class Difference(Strict):
    """The worst of one output over all runs, against the original; `*_fp64` against reference.py. `compared`
    says as what, where it was not element by element in place."""

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
    compared: str | None = None
    port_error: ErrorFacts | None = None
    original_error: ErrorFacts | None = None
    port_writer: WriterFacts | None = None  # of the first bad element; in the emulator only
    original_writer: WriterFacts | None = None


class RunFacts(Strict):
    """One case with one seed and one kind of input values."""

    case: str
    seed: int
    values: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shifted: bool = False  # addresses aligned no better than the spec says they must be
    counted: bool  # a null answer (zeros, a constant, a copy of an input) fails here, for every output
    note: str = ""

    @property
    def kind(self) -> str:
        """What was tried in it, as messages call it."""
        return kind_of(self.values, self.shifted)


def kind_of(values: str, shifted: bool) -> str:
    """The kind of a run in words: its values, and whether addresses are badly aligned."""
    return f"{values}, shifted addresses" if shifted else values


class FindingFacts(Strict):
    """What the emulator saw one side do. `line` is one of `file` (0: unknown), `ptx` the instruction; `block`
    and `thread` are linear indices of where it was seen first. `inherited`: the original does the same."""

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
    inherited: bool = False


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
    """`device` is where both sides ran; only the emulator has `findings`, `counts` and `output_bits` (a
    digest of what each side left in its outputs over all runs), only a GPU beside it `doubts`."""

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
    not_compared: list[str] = Field(default_factory=list)  # scratch memory of the kernel's own
    doubts: list[DoubtFacts] = Field(default_factory=list)
    counts: CountFacts | None = None
    output_bits: dict[Literal["original", "port"], str] = Field(default_factory=dict)
    mutation: MutationFacts | None = None


class ToolFacts(Strict):
    """One check for memory and order faults on one side. `findings` counts all that it told, also those that
    are no fault; `why` says what kept it from running."""

    name: Literal["emulator", "memcheck", "racecheck", "initcheck", "synccheck"]
    side: Literal["original", "port"]
    version: str = ""
    cases: list[str] = Field(default_factory=list)
    findings: int = 0
    seconds: float = 0.0
    why: str = ""


class SanitizeFacts(Strict):
    """`left_out` says of cases that no tool ran why."""

    tools: list[ToolFacts]
    findings: list[FindingFacts] = Field(default_factory=list)
    left_out: dict[str, str] = Field(default_factory=dict)


class Timing(Strict):
    """Microseconds of one side. `quantiles` are 21, from the least to the largest in steps of 5 %."""

    median_us: float
    p10_us: float
    p90_us: float
    samples: int
    gbytes_per_s: float | None = None
    quantiles: list[float] = Field(default_factory=list)


class LaunchTiming(Strict):
    """One launch from Python on an idle device: until the call returned, and until the device was done."""

    call: Timing
    done: Timing


class FirstCall(Strict):
    """What comes before the first result, measured once. The original is built by NVRTC or nvcc and then
    loaded; the port is compiled by the DSL, and loaded by its first launch. What is loaded once per process
    (the context, NVRTC, the DSL) is not in it."""

    build_us: float | None = None
    load_us: float | None = None
    launch_us: float

    @property
    def total_us(self) -> float:
        return (self.build_us or 0.0) + (self.load_us or 0.0) + self.launch_us


class CeilingFacts(Strict):
    """What the device reached at most, measured in this run. `bytes` is the size of a buffer; a copy counts
    what is read and what is written. `left_out` says why a number is missing."""

    bytes: int
    read_gbytes_per_s: float
    copy_gbytes_per_s: float
    fill_gbytes_per_s: float
    fma_tflops: float
    matrix_tflops: float | None = None
    left_out: dict[str, str] = Field(default_factory=dict)

    @property
    def gbytes_per_s(self) -> float:
        return max(self.read_gbytes_per_s, self.copy_gbytes_per_s, self.fill_gbytes_per_s)


CountedBy = Literal["spec", "spec, by shares", "emulator"]


class FloorFacts(Strict):
    """The least time that a launch can take, `floor_us`, and which share of it each side reaches.

    The bytes are those that the spec's buffers hold, or those that the emulator saw the original touch in
    this case, at the fastest rate of the ceilings; "spec, by shares" where it saw it touch some buffers only
    in part, in another case, and the same shares are taken here. The arithmetic is the emulator's count of
    the original's floating-point instructions, at one instruction per lane and cycle. `impossible_us` leaves
    out what the L2 may have kept, and buffers that were touched in part: no launch can be faster.
    """

    read_bytes: int
    written_bytes: int
    counted_by: CountedBy
    gbytes_per_s: float
    memory_us: float
    float_instructions: int | None = None
    arithmetic_us: float | None = None
    floor_us: float
    impossible_us: float
    port_share: float
    original_share: float
    note: str = ""


class BenchFacts(Strict):
    """Kernel time of both sides in one case, what it stands on, and the other clocks. `also` are further
    cases, timed alike; what the spec asks for is asked of this one."""

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
    clocks: dict[str, str] = Field(default_factory=dict)  # of the GPU, the last seen while it was timed
    sm_mhz: tuple[int, int] | None = None  # the least and the most seen while it was timed
    throttled_by: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    launch: dict[Literal["port", "original"], LaunchTiming] = Field(default_factory=dict)
    first_call: dict[Literal["port", "original"], FirstCall] = Field(default_factory=dict)
    floor: FloorFacts | None = None
    original_build: list[str] = Field(default_factory=list)  # the compiler and what it was given
    checked: dict[Literal["port", "original"], list[tuple[int, int]]] = Field(default_factory=dict)
    also: list[BenchFacts] = Field(default_factory=list)
