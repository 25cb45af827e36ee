"""What to check: `spec.toml` of a target folder. Written by the translator, edited by people."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from verify.dtypes import lookup
from verify.expr import ExprError, names_of

Expr = int | float | str
Role = Literal["in", "out", "inout"]
_INITS = ("normal", "uniform", "small_int", "zeros", "ones", "arange", "permutation")


class SpecError(Exception):
    """spec.toml can't be used. `problems` are lines ready to print: `path:line: what`."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _readable(text: Expr) -> Expr:
    names_of(text)
    return text


class Original(Strict):
    """`kernel` is a C++ name expression (`ns::k<float, 8>`); `source` is relative to the target folder."""

    source: str = "original/device.cu"
    kernel: str
    std: str = "c++17"
    defines: list[str] = []
    flags: list[str] = []


class Port(Strict):
    """`opt_level` pins the level at which the DSL makes machine code: where it miscompiles the port, say."""

    module: str = "port.py"
    entry: str
    opt_level: int | None = Field(default=None, ge=0, le=3)

    @field_validator("entry")
    @classmethod
    def _identifier(cls, v: str) -> str:
        if not v.isidentifier():
            raise ValueError(f"'{v}' is not a Python name")
        return v


class Launch(Strict):
    """Grid and block in x, y, z order; missing ones are 1. `smem` is dynamic shared memory in bytes."""

    grid: list[Expr] = Field(min_length=1, max_length=3)
    block: list[Expr] = Field(min_length=1, max_length=3)
    smem: Expr = 0

    @field_validator("grid", "block")
    @classmethod
    def _read_all(cls, v: list[Expr]) -> list[Expr]:
        return [_readable(e) for e in v] + [1] * (3 - len(v))

    @field_validator("smem")
    @classmethod
    def _read(cls, v: Expr) -> Expr:
        return _readable(v)


class Arg(Strict):
    """`port_name` is the port's parameter where it is not called like the original's."""

    name: str
    port_name: str | None = None


class ScalarArg(Arg):
    kind: Literal["scalar"]
    dtype: str
    value: bool | Expr

    @field_validator("dtype")
    @classmethod
    def _known(cls, v: str) -> str:
        return lookup(v).name

    @field_validator("value")
    @classmethod
    def _read(cls, v: bool | Expr) -> bool | Expr:
        return _readable(v)


class Filled(Strict):
    """How memory starts. `init` is one of normal, uniform, small_int, zeros, ones, arange, permutation or
    `index:<expr>` (integers in [low, expr), low being 0 if left out). `values` in its place lists the first
    elements; the rest are zero, as in C++."""

    init: str = "normal"
    low: float | None = None
    high: float | None = None
    values: list[int | float] | None = None

    @field_validator("init")
    @classmethod
    def _init(cls, v: str) -> str:
        check_init(v)
        return v

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.values is not None and self.model_fields_set & {"init", "low", "high"}:
            raise ValueError("values stand in place of init, low and high")
        return self


class ElementField(Filled):
    """One member of a buffer's struct elements, `offset` bytes from the element's start."""

    name: str
    dtype: str
    offset: int = Field(ge=0)

    @field_validator("dtype")
    @classmethod
    def _known(cls, v: str) -> str:
        return lookup(v).name


class Memory(Filled):
    """Device memory of `elems` elements of `dtype`, or of structs of `size` bytes with `fields`."""

    dtype: str | None = None
    elems: Expr
    role: Role
    size: int | None = Field(default=None, gt=0)
    fields: list[ElementField] = []

    @field_validator("dtype")
    @classmethod
    def _known(cls, v: str | None) -> str | None:
        return None if v is None else lookup(v).name

    @field_validator("elems")
    @classmethod
    def _read(cls, v: Expr) -> Expr:
        return _readable(v)

    @model_validator(mode="after")
    def _one_layout(self) -> Self:
        if (self.dtype is None) == (self.size is None):
            raise ValueError("a buffer has either a dtype, or a size and fields")
        if self.size is not None and not self.fields:
            raise ValueError("a buffer of structs lists its fields")
        if self.dtype is not None and self.fields:
            raise ValueError("fields belong to a buffer of structs (size), not to one with a dtype")
        for f in self.fields:
            if self.size is not None and f.offset + lookup(f.dtype).size > self.size:
                raise ValueError(f"field '{f.name}' reaches past the element's {self.size} bytes")
        return self

    @property
    def element_bytes(self) -> int:
        return self.size if self.size is not None else lookup(self.dtype or "").size


class BufferArg(Memory, Arg):
    """Memory whose address is a parameter; or a `__device__` or `__constant__` global of the original, which
    `symbol` names."""

    kind: Literal["buffer"]
    symbol: str | None = None


class StructField(Strict):
    """A scalar inside a by-value struct, `offset` bytes from its start."""

    name: str
    dtype: str
    offset: int = Field(ge=0)
    value: bool | Expr = 0

    @field_validator("dtype")
    @classmethod
    def _known(cls, v: str) -> str:
        return lookup(v).name

    @field_validator("value")
    @classmethod
    def _read(cls, v: bool | Expr) -> bool | Expr:
        return _readable(v)

    @property
    def room(self) -> int:
        """Bytes it takes in the struct."""
        return lookup(self.dtype).size


class PointerField(Strict):
    """A pointer inside a by-value struct: `offset` bytes from its start lies the address of `buffer`."""

    name: str
    offset: int = Field(ge=0)
    buffer: Memory

    @property
    def room(self) -> int:
        return 8


def _field_kind(field: Any) -> str:
    held = field if isinstance(field, dict) else vars(field)
    return "buffer" if "buffer" in held else "scalar"


AnyField = Annotated[
    Annotated[StructField, Tag("scalar")] | Annotated[PointerField, Tag("buffer")], Discriminator(_field_kind)
]


class StructArg(Arg):
    """One by-value struct of `size` bytes; the port takes `<name>_<field>` for each field.

    The buffer of a pointer field is called `<name>.<field>` in verdicts and by reference.py.
    """

    kind: Literal["struct"]
    size: int = Field(gt=0)
    fields: list[AnyField]

    @property
    def scalars(self) -> list[StructField]:
        return [f for f in self.fields if isinstance(f, StructField)]

    @property
    def buffers(self) -> list[BufferArg]:
        """What the pointer fields point to."""
        return [
            BufferArg.model_construct(
                f.buffer.model_fields_set,
                kind="buffer", name=f"{self.name}.{f.name}", port_name=None, symbol=None, **dict(f.buffer),
            )
            for f in self.fields
            if isinstance(f, PointerField)
        ]  # fmt: skip

    @model_validator(mode="after")
    def _inside(self) -> Self:
        names = [f.name for f in self.fields]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"field named twice: {', '.join(twice)}")
        for f in self.fields:
            if f.offset + f.room > self.size:
                raise ValueError(f"field '{f.name}' reaches past the struct's {self.size} bytes")
        return self


AnyArg = Annotated[ScalarArg | BufferArg | StructArg, Field(discriminator="kind")]


class Case(Strict):
    """`grid` and `block` replace the launch's own: a grid too small for the sizes shows what a loop over the
    grid does in its second round."""

    name: str
    sizes: dict[str, int] = {}
    role: Literal["boundary", "typical", "large"] = "typical"
    grid: list[Expr] | None = Field(default=None, min_length=1, max_length=3)
    block: list[Expr] | None = Field(default=None, min_length=1, max_length=3)

    @field_validator("grid", "block")
    @classmethod
    def _read_all(cls, v: list[Expr] | None) -> list[Expr] | None:
        return None if v is None else [_readable(e) for e in v] + [1] * (3 - len(v))


class Tolerance(Strict):
    """`rule` left out means fp64 where there is a reference.py, otherwise original. `k` bounds the port's
    error by k times the original's; `atol` and `rtol` replace the dtype's own in the port-against-original
    rule. `order_dependent` says that float atomics or races over equal values make results vary."""

    rule: Literal["fp64", "original"] | None = None
    k: float = Field(default=2.0, gt=0)
    atol: float | None = Field(default=None, ge=0)
    rtol: float | None = Field(default=None, ge=0)
    order_dependent: bool = False


class Bench(Strict):
    """`floor`: below this share of the original's speed the verdict is SLOWER."""

    floor: float = Field(default=0.85, gt=0)


class Question(Strict):
    """Something the translator could not infer. `answer`, of a person or of a measurement, closes it."""

    code: str
    text: str
    answer: str | None = None


class Spec(Strict):
    schema_version: Literal[1] = Field(alias="schema")
    name: str
    original: Original
    port: Port
    launch: Launch
    arg: list[AnyArg] = []
    case: list[Case] = Field(min_length=1)
    tolerance: Tolerance = Tolerance()
    bench: Bench = Bench()
    question: list[Question] = []

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
    def _names(self) -> Self:
        for what, names in (("arg", [a.name for a in self.arg]), ("case", [c.name for c in self.case])):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f"{what} named twice: {', '.join(twice)}")
        return self


def check_init(init: str) -> None:
    """ValueError where `init` is none of the known ways to fill a buffer."""
    if init.startswith("index:"):
        names_of(init.removeprefix("index:"))
    elif init not in _INITS:
        raise ValueError(f"unknown init '{init}'; known: {', '.join(_INITS)}, index:<expr>")


def load_spec(target: Path) -> Spec:
    """Read `target/spec.toml`. SpecError lists every problem with its line."""
    path = target / "spec.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpecError([f"{path}: no such file"]) from None
    except (OSError, UnicodeDecodeError) as e:
        raise SpecError([f"{path}: can't be read: {e}"]) from e
    return parse_spec(text, str(path))


def parse_spec(text: str, path: str = "spec.toml") -> Spec:
    """A Spec from TOML text. SpecError lists every problem with its line."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        m = re.search(r"at line (\d+)", str(e))
        raise SpecError([f"{path}:{m.group(1) if m else 1}: not valid TOML: {e}"]) from e
    try:
        return Spec.model_validate(data)
    except ValidationError as e:
        lines = _line_index(text)
        problems = []
        for err in e.errors():
            loc = [p for p in err["loc"] if p not in ("scalar", "buffer", "struct") or p in data]
            what = err["msg"].removeprefix("Value error, ")
            where = ".".join(str(p) for p in loc)
            problems.append(
                f"{path}:{_line_of(lines, loc)}: {where}: {what}" if where else f"{path}:1: {what}"
            )
        raise SpecError(list(dict.fromkeys(problems))) from e
    except ExprError as e:
        raise SpecError([f"{path}:1: {e}"]) from e


def _line_index(text: str) -> dict[tuple[Any, ...], int]:
    """(table, index, key …) → 1-based line, for headers and for keys at a line's start."""
    found: dict[tuple[Any, ...], int] = {}
    counts: dict[str, int] = {}
    at: tuple[Any, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if m := re.match(r"\s*\[\[\s*([\w.-]+)\s*\]\]", line):
            name = m.group(1)
            at = (name, counts.get(name, 0))
            counts[name] = counts.get(name, 0) + 1
            found[at] = number
        elif m := re.match(r"\s*\[\s*([\w.-]+)\s*\]", line):
            at = tuple(m.group(1).split("."))
            found[at] = number
        elif m := re.match(r"\s*([\w-]+)\s*[.=]", line):
            found.setdefault((*at, m.group(1)), number)
    return found


def _line_of(lines: dict[tuple[Any, ...], int], loc: list[Any]) -> int:
    for end in range(len(loc), 0, -1):
        if (line := lines.get(tuple(loc[:end]))) is not None:
            return line
    return 1
