"""Functions, launches and the whole model of one kernel instantiation."""

from __future__ import annotations

from dataclasses import dataclass, field

from translator.diag.diagnostic import NOWHERE, Span
from translator.model.expr import Var
from translator.model.stmt import Stmt
from translator.model.types import VOID, Type


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel or a device function, as one concrete instantiation.

    `symbol` is unique in the model; `name` is the author's. `params` have storage "param".
    """

    symbol: str
    name: str
    params: tuple[Var, ...]
    result: Type
    body: tuple[Stmt, ...]
    span: Span = NOWHERE
    is_kernel: bool = False
    template_args: tuple[tuple[str, str], ...] = ()  # (parameter name, argument as C++ text)
    max_threads: int = 0  # __launch_bounds__ first argument, 0 if absent
    min_blocks: int = 0  # __launch_bounds__ second argument
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Global:
    """A `__device__` or `__constant__` variable; `init` is its flat list of initial values, None if zero."""

    var: Var
    init: tuple[int | float, ...] | None = None
    written_by_host: bool = False  # a cudaMemcpyToSymbol of it was seen


@dataclass(frozen=True, slots=True)
class HostExpr:
    """A host-side launch expression.

    `text` is C++ as written after resolving local host variables; `value` its constant value if it has one;
    `python` the same in Python over the kernel's parameter names (integer arithmetic), "" if it needs
    something a kernel argument does not give.
    """

    text: str
    value: int | None = None
    python: str = ""


@dataclass(frozen=True, slots=True)
class Allocation:
    """What the host allocated for a pointer that it passes, in elements of the parameter's pointee.

    `certain`: no other allocation or assignment of the pointer seen can come before the launch. `zeroed`: the
    host fills it with zeros right before.
    """

    elements: HostExpr
    certain: bool = False
    span: Span = field(default=NOWHERE, compare=False)
    zeroed: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """A `k<<<grid, block, shared, stream>>>(…)` seen in the source; three axes each for grid and block."""

    grid: tuple[HostExpr, HostExpr, HostExpr]
    block: tuple[HostExpr, HostExpr, HostExpr]
    shared_bytes: HostExpr
    stream: str = ""
    args: tuple[str, ...] = ()  # argument texts, in order
    arg_values: tuple[float | int | None, ...] = ()  # constant value of each argument, None if not constant
    arg_fields: tuple[tuple[float | int | None, ...], ...] = ()  # the same of a struct's leaves, else empty
    arg_same: tuple[int, ...] = ()  # the first argument that is the same expression, each its own if none
    allocations: tuple[Allocation | None, ...] = ()  # of each pointer argument
    span: Span = NOWHERE
    cooperative: bool = False  # its blocks may wait for each other


@dataclass(frozen=True, slots=True)
class Source:
    """Where a kernel came from. `path` as given by the user, `unit` the translation unit it was read in.

    `std` is the C++ standard it was read with, as in `c++17`.
    """

    path: str
    unit: str
    sha256: str = ""
    std: str = "c++17"


@dataclass(frozen=True, slots=True)
class KernelModel:
    """One kernel instantiation with all it needs; a pure value that passes turn into another.

    A `partial` one is for drafting a spec only: not all of the kernel could be read, and what was refused is
    `Unsupported` or missing.
    """

    kernel: Function
    functions: tuple[Function, ...] = ()  # device functions reached, callees before callers
    globals: tuple[Global, ...] = ()
    launches: tuple[Launch, ...] = ()
    source: Source = field(default_factory=lambda: Source("", ""))
    instantiation: str = ""  # "k<float, 8>"; "" for a plain kernel
    device_slice: str = ""  # self-contained device-only CUDA source that holds the kernel and its needs
    cuda_name: str = ""  # name expression to look the kernel up by: "ns::k<float, 8>"
    partial: bool = False

    @property
    def returns_void(self) -> bool:
        return self.kernel.result == VOID

    def function(self, symbol: str) -> Function:
        return next(f for f in self.functions if f.symbol == symbol)
