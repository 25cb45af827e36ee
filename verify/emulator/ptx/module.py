"""What a PTX module says, as frozen data. Registers are bits: declared types give only widths.

Names of registers, labels and variables are unique in a function: the parser renames those of inner scopes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Space = Literal["global", "const", "shared", "local", "param"]

# Bytes of each type of PTX. A predicate takes one byte.
SIZES: Mapping[str, int] = {
    **{f"{k}{bits}": bits // 8 for k in "bus" for bits in (8, 16, 32, 64, 128)},
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
    "f16x2": 4,
    "bf16x2": 4,
    "f32x2": 8,
    "tf32": 4,
    "pred": 1,
    "e4m3": 1,
    "e5m2": 1,
    "e4m3x2": 2,
    "e5m2x2": 2,
}


class PtxError(Exception):
    """PTX that can't be used. `code` is a key of verify.codes; `line` is one of the PTX text (0: unknown)."""

    def __init__(self, code: str, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line


@dataclass(frozen=True, slots=True)
class Reg:
    """A register; `negated` is `!%p` of a predicate."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Imm:
    """A constant. `int`: value as written, signed. `f32`, `f64`: value is the raw bit pattern (0f…, 0d…)."""

    value: int
    kind: Literal["int", "f32", "f64"] = "int"


@dataclass(frozen=True, slots=True)
class Special:
    """A special register or constant: `%tid.x`, `%laneid`, `%clock64`, `WARP_SZ`."""

    name: str


@dataclass(frozen=True, slots=True)
class Sym:
    """The address of a variable, parameter or function, or a label, plus `offset` bytes."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Addr:
    """`[base+offset]`; `coords` of a tensor address `[map, {c0, c1}]`. Base None: an absolute address."""

    base: Reg | Sym | None
    offset: int = 0
    coords: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Vec:
    """`{a, b, c, d}`; None stands for the sink `_`."""

    items: tuple[Operand | None, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations `d|p`; None stands for the sink `_`."""

    first: Operand | None
    second: Operand | None


Operand: TypeAlias = Reg | Imm | Special | Sym | Addr | Vec | Pair


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in the source: an index into Module.files, a line from 1 (0: unknown)."""

    file: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Instr:
    """One instruction. `op` is the full opcode with modifiers (`ld.global.nc.v4.f32`); operand None is `_`.

    `text` is the instruction as written, white space collapsed; `ptx_line` its line in the module from 1.
    """

    op: str
    operands: tuple[Operand | None, ...]
    guard: Reg | None = None
    loc: Loc = Loc()
    ptx_line: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """`call (returns), target, (arguments), prototype`. Target is a function's name or a register.

    Returns and arguments are `.param` variables of the calling function (or registers in old PTX).
    """

    target: Sym | Reg
    returns: tuple[str, ...] = ()
    arguments: tuple[Operand, ...] = ()
    prototype: str = ""
    uniform: bool = False
    guard: Reg | None = None
    loc: Loc = Loc()
    ptx_line: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    name: str


Line: TypeAlias = Instr | Call | Label


@dataclass(frozen=True, slots=True)
class Reloc:
    """Eight (or four) bytes at `offset` of an initialiser that hold an address."""

    offset: int
    symbol: str
    addend: int = 0
    generic: bool = False
    size: int = 8


@dataclass(frozen=True, slots=True)
class Var:
    """A variable. `size` and `align` in bytes; `dynamic`: unsized extern array (dynamic shared memory).

    `init` is the initial bytes (shorter than size: zeros follow), None where there is none.
    """

    name: str
    space: Space
    type: str
    size: int
    align: int
    dynamic: bool = False
    extern: bool = False
    init: bytes | None = None
    relocs: tuple[Reloc, ...] = ()
    dims: tuple[int, ...] = ()  # () for a scalar


@dataclass(frozen=True, slots=True)
class Function:
    """An entry or a device function. `regs` maps each register to its declared type.

    `variables` are those declared in the body (.shared, .local and the .param of calls). `tables` are the
    label lists of `.branchtargets`; `prototypes` the raw text of `.callprototype`s.
    """

    name: str
    entry: bool
    params: tuple[Var, ...] = ()
    returns: tuple[Var, ...] = ()
    regs: Mapping[str, str] = field(default_factory=dict)
    variables: tuple[Var, ...] = ()
    body: tuple[Line, ...] = ()
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: Mapping[str, str] = field(default_factory=dict)
    reqntid: tuple[int, int, int] | None = None
    maxntid: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] | None = None  # .reqnctapercluster / .explicitcluster dims if given
    defined: bool = True  # False: a prototype only (extern)
    ptx_line: int = 0


@dataclass(frozen=True, slots=True)
class Module:
    """A PTX module: `version` like (8, 8), `target` like sm_90a, `files` of `.file` directives by index."""

    version: tuple[int, int]
    target: str
    address_size: int = 64
    files: Mapping[int, str] = field(default_factory=dict)
    variables: tuple[Var, ...] = ()
    functions: Mapping[str, Function] = field(default_factory=dict)

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the kernels, in the order of the text."""
        return tuple(f.name for f in self.functions.values() if f.entry)
