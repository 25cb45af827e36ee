"""What can be said about a candidate, as frozen data: each kind has its template in `templates/feedback/`.

Every kind says the least that is exact: which line, which element, which values. `source` fields hold the
text of the line that is named, "" where it is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from translator.prompts.brief import ExemplarText, Times

Strategy = Literal["smaller step", "other exemplar", "back to best"]


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the candidate or of the CUDA source. `file` is as the reader knows it: port.py, device.cu."""

    file: str
    line: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name that the installed DSL does not have. `what`: attribute, argument, import, block."""

    name: str
    line: int
    what: str = "attribute"
    nearest: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class UnknownNames:
    names: tuple[UnknownName, ...]


@dataclass(frozen=True, slots=True)
class StaticFinding:
    code: str
    line: int
    message: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class StaticFindings:
    """What verify's static stage refuses."""

    findings: tuple[StaticFinding, ...]


@dataclass(frozen=True, slots=True)
class CompileError:
    """What the import or the DSL's compiler said. `cuda` is the line that the failing one came from."""

    code: str
    message: str
    port: Place | None = None
    cuda: Place | None = None


@dataclass(frozen=True, slots=True)
class LaunchError:
    code: str
    message: str
    case: str = ""


@dataclass(frozen=True, slots=True)
class Writer:
    """The thread that wrote an element last."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class WrongValues:
    """`index` is the first bad element, linear, of `elements`; `count` are bad. `passed` are cases that were
    right before this one; `values` is the kind of inputs and addresses (`normal, shifted addresses`)."""

    code: str
    message: str
    output: str
    index: int
    port_value: str
    original_value: str
    count: int
    elements: int
    case: str
    values: str = ""
    limit: str = ""
    passed: tuple[str, ...] = ()
    port: Writer | None = None
    original: Writer | None = None


@dataclass(frozen=True, slots=True)
class MemoryFault:
    """A race, an access out of bounds, a read of what nothing wrote, a barrier not met. `second` is the other
    side of a race; `block` and `thread` are linear indices of where it was seen first."""

    code: str
    message: str
    case: str
    block: int
    thread: int
    first: Place
    second: Place | None = None
    cuda: Place | None = None
    instruction: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class SanitizerReport:
    """What compute-sanitizer's `tool` told."""

    tool: str
    code: str
    message: str
    case: str = ""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class TimedOut:
    """`stage` is verify's; `seconds` the limit."""

    code: str
    stage: str
    seconds: float
    case: str = ""


@dataclass(frozen=True, slots=True)
class Crashed:
    code: str
    stage: str
    message: str
    case: str = ""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row of verify's comparison of the two compiled programs."""

    name: str
    original: str
    port: str
    telling: str


@dataclass(frozen=True, slots=True)
class TooSlow:
    """`wanted` is the least ratio original / port that the spec asks for."""

    code: str
    times: Times
    wanted: float
    rows: tuple[DiffRow, ...] = ()


@dataclass(frozen=True, slots=True)
class NoCode:
    """`why`: the answer had no fence, several, or was cut off at the length limit."""

    why: Literal["none", "several", "cut off"]


@dataclass(frozen=True, slots=True)
class ToolProblem:
    """Arguments of a tool call that can't be used; `schema` is the JSON schema that they must fit."""

    tool: str
    problem: str
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A change of strategy, and `why`. `best` is the file to go back to, `exemplar` one not yet shown."""

    why: str
    strategy: Strategy
    best: str = ""
    exemplar: ExemplarText | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """Every check passed, and a faster one is wanted."""

    times: tuple[Times, ...]
    rows: tuple[DiffRow, ...] = ()


Feedback = (
    UnknownNames
    | StaticFindings
    | CompileError
    | LaunchError
    | WrongValues
    | MemoryFault
    | SanitizerReport
    | TimedOut
    | Crashed
    | TooSlow
    | NoCode
    | ToolProblem
    | Repeated
    | Passed
)
