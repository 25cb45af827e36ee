"""The host side of a port: launcher, compile cache and the function a caller uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from translator.emit.literals import shape_text
from translator.emit.names import Names
from translator.emit.writer import Writer
from translator.mapping.resolve import DSL_TYPES
from translator.model.expr import Var
from translator.model.kernel import HostExpr, KernelModel
from translator.model.types import BOOL, Array, Pointer, Scalar, dimensions


@dataclass(frozen=True, slots=True)
class HostParam:
    """A parameter of the port: Python name and lowered type."""

    name: str
    type: Scalar | Pointer

    @property
    def annotation(self) -> str:
        """DSL annotation in the kernel and the launcher."""
        if isinstance(self.type, Pointer):
            assert isinstance(self.type.to, Scalar)
            return f"cutlass.Pointer[{DSL_TYPES[self.type.to.name]}, gmem]"
        return DSL_TYPES[self.type.name]

    @property
    def python_type(self) -> str:
        if isinstance(self.type, Pointer):
            return "torch.Tensor | int | None"
        if self.type == BOOL:
            return "bool"
        return "float" if self.type.is_float else "int"

    @property
    def sample(self) -> str:
        """An argument good enough to compile with."""
        if isinstance(self.type, Pointer):
            assert isinstance(self.type.to, Scalar)
            return f"device_pointer(16, {DSL_TYPES[self.type.to.name]})"
        return f"{DSL_TYPES[self.type.name]}({'False' if self.type == BOOL else '0'})"

    @property
    def argument(self) -> str:
        """The caller's value as the compiled call takes it."""
        if isinstance(self.type, Pointer):
            assert isinstance(self.type.to, Scalar)
            return f"device_pointer({self.name}, {DSL_TYPES[self.type.to.name]})"
        return f"{DSL_TYPES[self.type.name]}({self.name})"


@dataclass(frozen=True, slots=True)
class Constant:
    """A `__constant__` global as the port's own constant memory; the caller passes what it holds."""

    name: str
    var: Var

    @property
    def shape(self) -> str:
        """Python text of its shape."""
        assert isinstance(self.var.type, Array)
        return shape_text(dimensions(self.var.type)[0])

    @property
    def scalar(self) -> Scalar:
        assert isinstance(self.var.type, Array)
        element = dimensions(self.var.type)[1]
        assert isinstance(element, Scalar)
        return element

    @property
    def dtype(self) -> str:
        return DSL_TYPES[self.scalar.name]

    @property
    def python_type(self) -> str:
        return "torch.Tensor | int"


@dataclass(frozen=True, slots=True)
class Defaults:
    """Python texts of the original's launch over the port's parameters; "" where it could not be derived."""

    grid: str = ""
    block: str = ""
    smem: str = ""


def defaults_of(model: KernelModel) -> Defaults:
    """What the first launch whose axes are all known says."""
    best = Defaults()
    for launch in model.launches:
        found = Defaults(_axes(launch.grid), _axes(launch.block, constant=True), _text(launch.shared_bytes))
        if found.grid and found.block:
            return found
        if (found.block and not best.block) or (found.grid and not best.grid):
            best = found
    return best


def renamed(defaults: Defaults, names: Mapping[str, str]) -> Defaults:
    """The texts over the port's parameter names; `min(` and the like stay Python's functions."""

    def text(t: str) -> str:
        return re.sub(r"\b[^\W\d]\w*\b(?!\()", lambda m: names.get(m[0], m[0]), t)

    return Defaults(text(defaults.grid), text(defaults.block), text(defaults.smem))


def _text(e: HostExpr) -> str:
    """Over the kernel's arguments where it depends on them, else what the source's sizes came to."""
    return e.python or ("" if e.value is None else str(e.value))


def _axes(axes: tuple[HostExpr, HostExpr, HostExpr], *, constant: bool = False) -> str:
    texts = [str(a.value) if constant and a.value is not None else "" if constant else _text(a) for a in axes]
    return f"({', '.join(texts)})" if all(texts) else ""


def write_host(
    out: Writer,
    entry: str,
    kernel: str,
    params: list[HostParam],
    constants: list[Constant],
    defaults: Defaults,
    about: list[str],
    min_blocks: int = 0,
    opt_level: int | None = None,
) -> None:
    """Writes `ENTRY_launch`, `compile_ENTRY` and `ENTRY`. `opt_level` pins that of the machine code.

    `min_blocks` is the second number of `__launch_bounds__`, 0 if absent; the first one needs nothing, since
    the block size is a constant of the port. -1 is CUDA's default carveout: without a number the DSL asks
    the driver for one.
    """
    names = Names({p.name for p in params})
    gx, gy, gz = (names.fresh(n) for n in ("grid_x", "grid_y", "grid_z"))
    block, smem, stream = "block", "smem", "stream"  # no parameter has these names: see emit.names
    passed = ", ".join(p.name for p in params)
    out.line("@cute.jit")
    out.line(f"def {entry}_launch(")
    with out.indented():
        for p in params:
            out.line(f"{p.name}: {p.annotation},")
        out.line(f"{gx}: Int32,")
        out.line(f"{gy}: Int32,")
        out.line(f"{gz}: Int32,")
        out.line(f"{block}: cutlass.Constexpr,")
        out.line(f"{smem}: Int32,")
        out.line(f"{stream}: cuda.CUstream,")
    out.line("):")
    with out.indented():
        out.line(f"{kernel}({passed}).launch(")
        with out.indented():
            comma = "," if min_blocks > 1 else ""
            out.line(f"grid=({gx}, {gy}, {gz}), block={block}, smem={smem}, stream={stream}{comma}")
            if min_blocks > 1:
                out.line(f"min_blocks_per_mp={min_blocks}, preferred_smem_carveout=-1")
        out.line(")")
    _compile(out, entry, params, opt_level)
    _call(out, entry, params, constants, defaults, about)


def _compile(out: Writer, entry: str, params: list[HostParam], opt_level: int | None) -> None:
    out.line()
    out.line()
    out.line("@functools.cache")
    out.line(f"def compile_{entry}(block: tuple[int, int, int]):")
    with out.indented():
        out.line('"""The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""')
        out.line("return cute.compile(")
        with out.indented():
            out.line(f"{entry}_launch,")
            for p in params:
                out.line(f"{p.sample},")
            out.line("*map(Int32, (1, 1, 1)),")
            out.line("block,")
            out.line("Int32(0),")
            out.line("make_fake_stream(),")
            if opt_level is not None:
                out.line(f'options="--opt-level {opt_level}",')
        out.line(")")


def _call(
    out: Writer,
    entry: str,
    params: list[HostParam],
    constants: list[Constant],
    defaults: Defaults,
    about: list[str],
) -> None:
    out.line()
    out.line()
    out.line(f"def {entry}(")
    with out.indented():
        for name, kind in [(p.name, p.python_type) for p in params] + [
            (c.name, c.python_type) for c in constants
        ]:
            out.line(f"{name}: {kind},")
        out.line("*,")
        out.line(
            "grid: int | tuple[int, ...] | None = None," if defaults.grid else "grid: int | tuple[int, ...],"
        )
        if defaults.block:
            out.line(f"block: int | tuple[int, ...] = {defaults.block},")
        else:
            out.line("block: int | tuple[int, ...],")
        if defaults.smem and defaults.smem.isdigit():
            out.line(f"smem: int = {defaults.smem},")
        else:
            out.line("smem: int | None = None," if defaults.smem else "smem: int = 0,")
        out.line("stream: int | None = None,")
    out.line(") -> None:")
    with out.indented():
        out.line('"""' + about[0])
        out.line()
        for text in about[1:]:
            out.line(text)
        out.line('"""')
        if defaults.grid:
            out.line("if grid is None:")
            with out.indented():
                out.line(f"grid = {defaults.grid}")
        if defaults.smem and not defaults.smem.isdigit():
            out.line("if smem is None:")
            with out.indented():
                out.line(f"smem = {defaults.smem}")
        out.line("if stream is None:")
        with out.indented():
            out.line("stream = torch.cuda.current_stream().cuda_stream")
        call = f"compile_{entry}(axes(block))"
        if constants:
            compiled = Names({p.name for p in params}).fresh("compiled")
            out.line(f"{compiled} = {call}")
            call = compiled
        for c in constants:
            out.line(f'set_constant({compiled}, "{c.name}", {c.name}, {c.var.type.size}, stream)')
        out.line(f"{call}(")
        with out.indented():
            for p in params:
                out.line(f"{p.argument},")
            out.line("*map(Int32, axes(grid)),")
            out.line("Int32(smem),")
            out.line("cuda.CUstream(stream),")
        out.line(")")
