"""Kernels around the snippets of `pitfalls.toml`, written to a file, which the DSL needs to trace them."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

HEAD = """
import cutlass
import cutlass.cute as cute
from cutlass import AddressSpace, Boolean, Float16, Float32, Float64, Int32, Int64, Uint8, Uint32, Uint64
from cutlass._mlir.dialects import arith, llvm

gmem = AddressSpace.gmem
WIDE = 4
F, I, W = cutlass.Pointer[Float32, gmem], cutlass.Pointer[Int32, gmem], cutlass.Pointer[Uint32, gmem]
B, H = cutlass.Pointer[Uint8, gmem], cutlass.Pointer[Float16, gmem]
"""
NAMES = ("a", "o", "q", "w", "b", "h", "n", "u", "x")
TYPED = "a: F, o: F, q: I, w: W, b: B, h: H, n: Int32, u: Uint32, x: Float32"


def kernel(name: str, snippet: str) -> str:
    """A kernel whose body is `snippet`: a thread's number `i`, pointers a o (float) q w b h, values n u x."""
    body = textwrap.indent(snippet.strip("\n"), "    ")
    return f"""
@cute.kernel
def {name}_kernel({TYPED}):
    i, _, _ = cute.arch.thread_idx()
{body}


@cute.jit
def {name}_launch({TYPED}):
    {name}_kernel({", ".join(NAMES)}).launch(grid=(1, 1, 1), block=(128, 1, 1))
"""


def together(name: str, parts: Sequence[str]) -> str:
    """A function that launches the kernels `parts`: one compile for all of them."""
    calls = "\n".join(f"    {p}_launch({', '.join(NAMES)})" for p in parts)
    return f"\n\n@cute.jit\ndef {name}({TYPED}):\n{calls}\n"


def load(path: Path, text: str) -> ModuleType:
    path.write_text(HEAD + text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(function: Any) -> str:
    """The PTX of a launcher. Raises what the DSL raises."""
    import cutlass.cute as cute
    from cutlass import AddressSpace, Float16, Float32, Int32, Uint8, Uint32
    from cutlass.cute.runtime import make_ptr

    kinds = (Float32, Float32, Int32, Uint32, Uint8, Float16)
    pointers = [make_ptr(k, 4096, AddressSpace.gmem, assumed_align=16) for k in kinds]
    done = cute.compile(function, *pointers, Int32(7), Uint32(7), Float32(1))
    return str(done.artifacts.PTX)
