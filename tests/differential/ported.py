"""A port's kernel as a host function: the same text, run on the CPU through the same DSL front end.

What changes: `@cute.kernel` becomes `@cute.jit`, global memory becomes generic memory, the coordinates come
from extra arguments, the launch part goes. Nothing of the kernel's own statements is touched.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import cutlass
from cutlass import cute
from cutlass._mlir.dialects import arith
from cutlass.cute.runtime import make_ptr

from translator.emit.host import HostParam
from translator.emit.module import Draft
from translator.mapping.resolve import DSL_TYPES
from translator.model.types import Pointer, Scalar

# Instructions that only a GPU has, and the same thing for the host.
STAND_INS = {
    ", is_volatile=True": "",
    "is_volatile=True": "",
    "is_invariant=True": "",
    "cute.arch.fmax(": "HERE.fmax(",
    "cute.arch.fmin(": "HERE.fmin(",
    " = opaque_pointer(": " = (",
}
_CONSTANT = re.compile(
    r"^(\w+) = cutlass\.Array\(\s*(\w+),\s*(\d+|\([^)]*\)),\s*space=cutlass\.AddressSpace\.cmem,[^)]*\)$",
    re.MULTILINE,
)
COORDINATES = tuple(f"here_{k}" for k in range(12))


class Here:
    """The coordinates of the thread being traced, as values of the function being compiled."""

    def __init__(self) -> None:
        self._now: Sequence[Any] = ()

    def enter(self, *now: Any) -> None:
        self._now = now

    @staticmethod
    def fmax(a: Any, b: Any) -> Any:
        return type(a)(arith.maxnumf(a.ir_value(), type(a)(b).ir_value()))

    @staticmethod
    def fmin(a: Any, b: Any) -> Any:
        return type(a)(arith.minnumf(a.ir_value(), type(a)(b).ir_value()))

    def thread_idx(self) -> Sequence[Any]:
        return self._now[0:3]

    def block_idx(self) -> Sequence[Any]:
        return self._now[3:6]

    def block_extent(self) -> Sequence[Any]:
        return self._now[6:9]

    def grid_extent(self) -> Sequence[Any]:
        return self._now[9:12]


class Constant:
    """An array in constant memory, as memory that the caller hands in."""

    def __init__(self, kind: Any, shape: Any) -> None:
        self._kind, self._shape = kind, shape
        self._now: Any = None

    def enter(self, at: Any) -> None:
        self._now = cutlass.Array(at.llvm_ptr, shape=self._shape, dtype=self._kind)

    def __getitem__(self, index: Any) -> Any:
        return self._now[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now, name)


def host_text(draft: Draft) -> tuple[str, str]:
    """(module text, name of the host function)."""
    text = draft.source
    start = text.index("@cute.kernel\n")
    found = re.compile(r"@cute\.kernel\ndef (\w+)\((.*?)\):\n", re.DOTALL).match(text, start)
    assert found is not None
    end = text.index("\n@cute.jit\n", found.end())
    name, params = found[1], found[2].strip().rstrip(",")
    at = [f"at_{c[1]}: cutlass.Pointer[{c[2]}, gmem]" for c in _CONSTANT.finditer(text[:start])]
    extra = ", ".join([*at, *(f"{c}: cutlass.Int32" for c in COORDINATES)])
    signature = f"@cute.jit\ndef {name}({params + ', ' if params else ''}{extra}):\n"
    constants = [c[1] for c in _CONSTANT.finditer(text[:start])]
    enter = f"    HERE.enter({', '.join(COORDINATES)})\n" + "".join(
        f"    {c}.enter(at_{c})\n" for c in constants
    )
    text = text[:start] + signature + enter + text[found.end() : end]
    text = text.replace("AddressSpace.gmem", "AddressSpace.generic")
    reads = r"(?:cute\.arch\.(thread_idx|block_idx)|\b(block_extent|grid_extent))\(\)(?! ->)"
    text = re.sub(reads, lambda m: f"HERE.{m[1] or m[2]}()", text)
    for device, host in STAND_INS.items():
        text = text.replace(device, host)
    text = re.sub(r"^import (torch|cuda\.bindings\.driver as cuda)\n", "", text, flags=re.MULTILINE)
    text = _CONSTANT.sub(r"\1 = tests.differential.ported.Constant(\2, \3)", text)
    head = "import tests.differential.ported\n\nHERE = tests.differential.ported.Here()\n"
    return text.replace("\ngmem = ", f"\n{head}gmem = ", 1), name


def load(path: Path) -> ModuleType:
    """The module at `path` (a port, or one made for the host)."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Ported:
    """A port compiled for the host, callable on host memory."""

    def __init__(self, draft: Draft, path: Path) -> None:
        text, name = host_text(draft)
        path.write_text(text)
        self._types = [p.type if isinstance(p, HostParam) else Pointer(p.scalar) for p in draft.params]
        samples = [self._box(t, 64 if isinstance(t, Pointer) else 0) for t in self._types]
        self._compiled = cute.compile(getattr(load(path), name), *samples, *map(cutlass.Int32, (0,) * 12))

    @staticmethod
    def _box(t: Scalar | Pointer, value: Any) -> Any:
        if isinstance(t, Pointer):
            assert isinstance(t.to, Scalar)
            kind = getattr(cutlass, DSL_TYPES[t.to.name])
            return make_ptr(kind, value, cutlass.AddressSpace.generic, assumed_align=t.to.size)
        kind = getattr(cutlass, DSL_TYPES[t.name])
        return kind(bool(value) if t.name == "bool" else value)

    def launch(self, values: Sequence[Any], grid: tuple[int, ...], block: tuple[int, ...]) -> None:
        """Runs each thread of each block in order; pointers are given as host addresses."""
        boxed = [self._box(t, v) for t, v in zip(self._types, values, strict=True)]
        sizes = [cutlass.Int32(v) for v in (*block, *grid)]
        for bz in range(grid[2]):
            for by in range(grid[1]):
                for bx in range(grid[0]):
                    at = [cutlass.Int32(v) for v in (bx, by, bz)]
                    for tz in range(block[2]):
                        for ty in range(block[1]):
                            for tx in range(block[0]):
                                me = [cutlass.Int32(v) for v in (tx, ty, tz)]
                                self._compiled(*boxed, *me, *at, *sizes)
