"""All that a prompt says, as frozen data. Nothing reaches a template that is not in here."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from keyword import iskeyword
from typing import Literal

from translator.prompts.pitfalls import Pitfall

Mode = Literal["port", "lift", "tune"]
Role = Literal["in", "out", "inout", "scratch", "value", "constant"]


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    """A parameter of the entry, in the spec's order. `name` is the port's; structs stand as `<arg>_<field>`.

    `dtype` is the spec's (`float32`, `f32`), of a buffer's elements or a value; "" for a buffer of structs.
    `elems` is the number of a buffer's elements, or the expression of a value. `align` is what the address
    is a multiple of, in bytes; 0 for an element's size. A `constant` is passed by keyword.
    """

    name: str
    dtype: str
    role: Role
    elems: str = ""
    align: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """The original's launch, as expressions; `smem` in bytes."""

    grid: tuple[str, str, str]
    block: tuple[str, str, str]
    smem: str = "0"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the deterministic translator refused. `line` is one of the CUDA source, `source` its text."""

    code: str
    line: int
    message: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class ExemplarText:
    """A verified kernel to learn from: its CUDA twin, its CuTe DSL kernel, and why it was chosen."""

    id: str
    summary: str
    reasons: tuple[str, ...]
    cuda: str
    kernel: str
    notes: str = ""


@dataclass(frozen=True, slots=True)
class RowLine:
    """A row of the mapping table: CUDA's prototype, its text in CuTe DSL, what differs."""

    cuda: str
    cute: str
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class NameLine:
    """A name of the DSL or a block of the corpus; for a block `source` is the text to copy."""

    name: str
    signature: str
    summary: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Times:
    """Kernel times of one case in microseconds; `floor_us` is the least that a launch can take."""

    case: str
    port_us: float
    original_us: float
    floor_us: float | None = None


@dataclass(frozen=True, slots=True)
class BestSoFar:
    """A port that passed every check; `times` is empty where nothing was timed."""

    port: str
    times: tuple[Times, ...] = ()


@dataclass(frozen=True, slots=True)
class Brief:
    """What a conversation starts from.

    `cuda` is the device slice that verify builds, `path` its name there; `arguments`, `launch`, `cases` and
    `tolerance` are the spec's. `draft` is the emitter's text, "" where there is none. `exemplars` stand best
    first. `best` is the verified port to lift or tune. `tools`: the answer is given by calling `submit`.
    ValueError where names are no identifiers, or a mode lacks what it works on.
    """

    kernel: str
    mode: Mode
    cuda: str
    path: str
    entry: str
    arguments: tuple[ArgumentLine, ...]
    launch: Launch
    cases: tuple[str, ...]
    tolerance: str
    arch: str
    dsl: str = "4.8.1"
    facts: tuple[str, ...] = ()
    draft: str = ""
    refusals: tuple[Refusal, ...] = ()
    exemplars: tuple[ExemplarText, ...] = ()
    rows: tuple[RowLine, ...] = ()
    api: tuple[NameLine, ...] = ()
    blocks: tuple[NameLine, ...] = ()
    pitfalls: tuple[Pitfall, ...] = ()
    best: BestSoFar | None = None
    tools: bool = False

    def __post_init__(self) -> None:
        for name in (self.entry, *(a.name for a in self.arguments)):
            if not name.isidentifier() or iskeyword(name):
                raise ValueError(f"{name!r} can't be a name in Python")
        if self.mode != "port" and self.best is None:
            raise ValueError(f"to {self.mode} a kernel there must be a verified port")

    @property
    def signature(self) -> str:
        """The entry's first line, as verify calls it."""
        plain = [a.name for a in self.arguments if a.role != "constant"]
        named = [a.name for a in self.arguments if a.role == "constant"]
        named += ["grid", "block", "smem=0"] if self.mode == "port" else []
        return f"def {self.entry}({', '.join([*plain, '*', *named, 'stream=None'])}) -> None:"


def texts_of(value: object) -> list[str]:
    """Every text that a frozen value holds, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [t for part in value for t in texts_of(part)]
    if is_dataclass(value) and not isinstance(value, type):
        return [t for f in fields(value) for t in texts_of(getattr(value, f.name))]
    return []
