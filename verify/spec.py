"""What to check: `spec.toml` of a target folder. Written by the translator, edited by people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from verify.spec_args import AnyArg, BufferArg, Expr, ScalarArg, Strict, StructArg, readable

# Parameters of a port's entry that say how it is launched; it has those that it leaves to its caller.
LAUNCH = ("grid", "block", "smem", "stream")


class Original(Strict):
    """`kernel` is a C++ name expression (`ns::k<float, 8>`); `source` is relative to the target folder."""

    source: str = "original/device.cu"
    """The CUDA source that is built, relative to the target folder."""
    kernel: str
    """C++ name expression of the kernel, template arguments included: `ns::k<float, 8>`."""
    std: str = "c++17"
    """The language standard that it is built with."""
    defines: list[str] = Field(default_factory=list)
    """Macros, as after -D: `TILE=16`."""
    flags: list[str] = Field(default_factory=list)
    """Further compiler flags of the original's own build, such as `--use_fast_math`."""


class Port(Strict):
    """`opt_level` pins the level at which the DSL makes machine code: where it miscompiles the port, say."""

    module: str = "port.py"
    """The port's file, relative to the target folder."""
    entry: str
    """The function to call; `compile_<entry>` must be there too."""
    constants: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Values by name that the entry takes by keyword, the same in every case, and `compile_<entry>` too where
    it has a parameter of that name: `{ dtype = "bf16" }`."""
    opt_level: int | None = Field(default=None, ge=0, le=3)
    """Optimisation level of the DSL's machine code, 0 to 3: where the default one is wrong, say. Left
    out: the DSL's own."""

    @field_validator("entry")
    @classmethod
    def _identifier(cls, v: str) -> str:
        if not v.isidentifier():
            raise ValueError(f"'{v}' is not a Python name")
        return v

    @field_validator("constants")
    @classmethod
    def _keywords(cls, v: dict[str, bool | int | float | str]) -> dict[str, bool | int | float | str]:
        for name in v:
            if not name.isidentifier() or name in LAUNCH:
                raise ValueError(f"'{name}' can't name a constant of the port")
        return v


class Launch(Strict):
    """Grid and block in x, y, z order; missing ones are 1. `smem` is dynamic shared memory in bytes."""

    grid: list[Expr] = Field(min_length=1, max_length=3)
    """Blocks in x, y, z; expressions over the sizes and scalars of a case. Missing ones are 1."""
    block: list[Expr] = Field(min_length=1, max_length=3)
    """Threads of a block in x, y, z."""
    smem: Expr = 0
    """Dynamic shared memory in bytes."""
    cooperative: bool = False
    """Whether the original is launched by cudaLaunchCooperativeKernel: all its blocks are there at once, and
    may wait for each other. How a port launches is its own affair."""

    @field_validator("grid", "block")
    @classmethod
    def _read_all(cls, v: list[Expr]) -> list[Expr]:
        return [readable(e) for e in v] + [1] * (3 - len(v))

    @field_validator("smem")
    @classmethod
    def _read(cls, v: Expr) -> Expr:
        return readable(v)


class Case(Strict):
    """`grid` and `block` replace the launch's own: a grid too small for the sizes shows what a loop over the
    grid does in its second round."""

    name: str
    """What messages and --case call it."""
    sizes: dict[str, int] = Field(default_factory=dict)
    """Numbers by name that the expressions of the spec may use."""
    scalars: dict[str, Expr] = Field(default_factory=dict)
    """Values of scalars that this case has in place of their own, by name; a struct's as `arg.field`."""
    role: Literal["boundary", "typical", "large"] = "typical"
    """boundary shapes run first and with odd values; a large case runs once, and is timed."""
    grid: list[Expr] | None = Field(default=None, min_length=1, max_length=3)
    """Replaces the launch's own grid: too few blocks for the sizes show what a loop over the grid does in
    its second round."""
    block: list[Expr] | None = Field(default=None, min_length=1, max_length=3)
    """Replaces the launch's own block."""

    @field_validator("grid", "block")
    @classmethod
    def _read_all(cls, v: list[Expr] | None) -> list[Expr] | None:
        return None if v is None else [readable(e) for e in v] + [1] * (3 - len(v))


class Tolerance(Strict):
    """`rule` left out means fp64 where there is a reference.py, otherwise original. `k` bounds the port's
    error by k times the original's; `atol` and `rtol` replace the dtype's own in the port-against-original
    rule. `order_dependent` says that float atomics or races over equal values make results vary."""

    rule: Literal["fp64", "double", "original"] | None = None
    """`fp64`: the port's error against reference.py is bounded by the original's own. `double`: the same,
    against the original with its floats made doubles. `original`: the port is compared with the original
    within the dtype's tolerance. Left out: fp64 where there is a reference.py, else original."""
    k: float = Field(default=2.0, gt=0)
    """The fp64 rule allows k times the original's error, and an ulp."""
    atol: float | None = Field(default=None, ge=0)
    """Replaces the dtype's absolute tolerance of the rule `original` (which is in terms of the output's
    rms); adds to the limit of `fp64`."""
    rtol: float | None = Field(default=None, ge=0)
    """The same for the relative tolerance."""
    order_dependent: bool = False
    """Float atomics, or races that the kernel means, make results vary from run to run."""


class Bench(Strict):
    """`floor`: below this share of the original's speed the verdict is SLOWER."""

    floor: float = Field(default=0.85, gt=0)
    """Below this share of the original's speed the verdict is SLOWER."""


class Question(Strict):
    """Something the translator could not infer. `answer`, of a person or of a measurement, closes it."""

    code: str
    """The diagnostic that asked it."""
    text: str
    """What the translator could not infer."""
    answer: str | None = None
    """Of a person or of a measurement; closes the question. An open one forbids PASSED."""


class Spec(Strict):
    schema_version: Literal[1] = Field(alias="schema")
    """1."""
    name: str
    """The target's name."""
    original: Original
    """The CUDA side."""
    port: Port
    """The CuTe DSL side."""
    launch: Launch
    """How both are launched."""
    arg: list[AnyArg] = Field(default_factory=list)
    """Arguments in the order of the CUDA kernel's parameters; then the globals that it uses
    (`symbol`)."""
    case: list[Case] = Field(min_length=1)
    """Named shapes."""
    tolerance: Tolerance = Tolerance()
    """When values are the same."""
    bench: Bench = Bench()
    """When the port is fast enough."""
    question: list[Question] = Field(default_factory=list)
    """What the translator could not infer."""

    @property
    def buffers(self) -> list[BufferArg]:
        """All memory of the kernel, in order of the arguments; that behind struct fields too."""
        found: list[BufferArg] = []
        for a in self.arg:
            found += [a] if isinstance(a, BufferArg) else a.buffers if isinstance(a, StructArg) else []
        return found

    def with_original(self, keys: Mapping[str, str]) -> Spec:
        """The spec for another original: `keys` of [original] take the place of its own."""
        return self.model_copy(update={"original": self.original.model_copy(update=dict(keys))})

    @property
    def open_questions(self) -> list[Question]:
        return [q for q in self.question if not q.answer]

    @model_validator(mode="after")
    def _scalars_are_known(self) -> Self:
        known = {a.name for a in self.arg if isinstance(a, ScalarArg)}
        known |= {f"{a.name}.{f.name}" for a in self.arg if isinstance(a, StructArg) for f in a.scalars}
        for c in self.case:
            if unknown := sorted(c.scalars.keys() - known):
                raise ValueError(f"case '{c.name}': no scalar is called {', '.join(unknown)}")
        return self

    @model_validator(mode="after")
    def _names(self) -> Self:
        for what, names in (("arg", [a.name for a in self.arg]), ("case", [c.name for c in self.case])):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f"{what} named twice: {', '.join(twice)}")
        return self

    @model_validator(mode="after")
    def _constants_apart(self) -> Self:
        if both := sorted(set(self.port.constants) & {a.port_name or a.name for a in self.arg}):
            raise ValueError(f"constants of the port are arguments too: {', '.join(both)}")
        return self
