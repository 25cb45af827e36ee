"""The static stage: what it refuses with which code, and what it lets pass."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from saxpy_target import PORT, write_target

from verify.static import check_static, offences
from verify.static_modules import closed

ROOT = Path(__file__).parents[3]
LAUNCH = "    grid = grid or"  # a line of the entry
TRACED = "    i = b * d + t\n"  # a line of the kernel

# At the end of the module, after the imports, in the launch path, or in the traced kernel.
MODULE = {
    "CP6003": [
        "from cutlass.base_dsl.ffi import FFI",
        "from cutlass._mlir.dialects import func",
        "import os",
        "import sys",
        "from pathlib import Path",
        "import ctypes",
        "import subprocess",
        "import numpy",
        "import importlib",
        "from . import other",
        "import verify",
        "import cutlass.torch.x",
        "import torch.cuda",
        "from cutlass.torch import as_tensor",
        "from math import *",
        "from cutlass.cute import export",
        "from operator import attrgetter",
        "from operator import methodcaller",
        "from cutlass.cute.runtime import ctypes",
        "from cutlass.base_dsl.dsl import os",
        "import cuda.bindings.nvrtc",
        "from functools import singledispatch",
        "from dataclasses import make_dataclass",
        "from typing import get_type_hints",
        "import cutlass.base_dsl.jit_executor",
        "from cutlass.cute import extern",
        "import time",
        "import gc",
    ],
    "CP6005": [
        "def f(): return exec('1')",
        "def f(): e = eval",
        "def f(): return globals()",
        "def f(): return vars(PORT)",
        "def f(x): return x.__dict__",
        "def f(x): return x.__globals__",
        "def f(x): return ().__class__.__subclasses__()",
        "def f(x): return getattr(x, 'a' + 'b')",
        "def f(x): return getattr(x, '__code__')",
        "def f(x): g = getattr",
        "def f(x): setattr(x, 'a', 1)",
        "def f(): return type('T', (), {})",
        "def f(): t = type",
        "def f(x): open('x')",
        "def f(): cute.arch.fmax = min",
        "def f(): torch.cuda.Event = None",
        "def f(): COMPILED['x'].y.__self__.z = 1",
        "def f(): t = torch",
        "def f(x): return x(torch)",
        "def f(): c = cute",
        "def f(): return getattr(torch, 'cuda')",
        "def f(x: 'eval(1)'): pass",
        "Alias = Tuple['exec(1)']\nfrom typing import Tuple",
        "def f(x, seen=[]): pass",
        "def f(): global COUNT",
        "def f(): f.calls = 1",
        "class A:\n    def f(cls): cls.n = 1",
        "class A:\n    def __getattr__(self, n): pass",
        "class A:\n    def __del__(self): pass",
        "class A:\n    __dlpack__ = None",
        "class A(metaclass=type): pass",
        "@print\ndef f(): pass",
        "def wrap(g): return g\n@wrap\ndef f(): pass",
        "exec: int\ndef f(): exec('1')",
        "X = False and (eval := 1)\ndef f(): eval('1')",
        "import math as torch",
        "def f(): return cute.ffi(name='system')",
        "def f(n): return cute.ffi(name=n)",
        "def f(): return cute.ffi(name='__nv_expf', source='x.bc')",
        "def f(g): return cute.compile(g, options='--link-libraries=x.bc')",
        "def f(o): return cute.compile(g, options=o)",
        "def f(g): return g.gi_frame",
        "def f(c): return c.cache_parameters",
        "def f(): __builtins__",
        "def f(): return id(1)",
        "def f(x): object.__setattr__(x, 'a', 1)",
        "def f(): return type(1).x.__mro__",
        "def f(x): type(x).y = 1",
        "from cuda.bindings import runtime as rt\ndef f(p): rt.cudaMemcpyAsync(p, p, 4, 3, 0)",
        "from cuda.bindings import runtime as rt\ndef f(p): rt.cudaMalloc(4)",
        "def f(): return cutlass.cute.export",
        "def f(): return cute.runtime.os.system",
        "import functools\ndef f(): return functools.singledispatch",
        "def f(): c = cute.compile",
        "def f(): g = cute.ffi",
        "def f(g, o): return cute.compile(g, **o)",
        "F = lambda seen=[]: seen",
        "from typing import NamedTuple\nT = NamedTuple('T', [('a', 'exec(1)')])",
        "class A:\n    __annotations__ = {'a': 'exec(1)'}",
        "from cutlass._mlir import ir\ndef f(): return ir.Module.parse('')",
        "from cutlass._mlir.dialects import llvm\ndef f(): llvm.call(None, [], [])",
        "from cuda.bindings import runtime as rt\ndef f(): return map(rt.cudaMemcpyAsync, [1])",
        "def f(x): return cute.compile[cute.LinkLibraries('x')](x)",
    ],
    "CP6006": [
        "def f(x): return torch.add(x, x)",
        "def f(x): return torch.ops.aten.add(x, x)",
        "def f(x): return x.matmul(x)",
        "def f(x, y): y.copy_(x)",
        "def f(x, y): y.add_(x)",
        "def f(): return torch.empty(4)",
        "def f(x): return x.cpu()",
        "from torch import from_dlpack",
        "from torch.nn import functional",
        "def f(x): return torch.as_tensor(x)",
        "def f(x): a = torch.matmul",
        "def f(): return torch.Tensor([1])",
        "@torch.compile\ndef f(): pass",
    ],
    "CP6007": [
        "import threading",
        "from concurrent.futures import ThreadPoolExecutor",
        "import asyncio",
        "import multiprocessing",
        "def f(): return torch.cuda.Stream()",
        "def f(): torch.cuda.synchronize()",
        "async def f(): pass",
        "def f():\n    with torch.cuda.stream(None): pass",
        "from torch.cuda import Event",
        "from cuda.bindings.driver import cuStreamCreate",
        "def f(s): s.wait_stream(s)",
        "def f(): torch.cuda.CUDAGraph()",
    ],
    "CP6008": [
        "def f():\n    try: pass\n    except Exception: pass",
        "try:\n    X = 1\nfinally:\n    Y = 1",
        "class A:\n    def __enter__(self): pass",
    ],
    "CP6009": [
        "print(1)",
        "for i in range(3): pass",
        "if True:\n    X = 1",
        "X = saxpy(1, 1, 0, 0)",
        "COMPILED['x'] = 1",
        "while False: pass",
        "assert COMPILED == {}",
        "if __name__ == '__main__':\n    X = 1",
        "cute.arch.x = 1",
        "X = cute.compile(saxpy_launch)",
        "class A:\n    print(1)",
        "class A:\n    X = saxpy(1)",
        "X = [saxpy(i) for i in y]",
        "del COMPILED",
        "T = iter([1])",
        "import torch\ntorch.x = 1",
        "X = (lambda: 1)()",
    ],
}
ENTRY = {
    "CP6005": [
        "COMPILED['calls'] = n",
        "COMPILED.setdefault('calls', []).append(1)",
        "COMPILED.update(n=1)",
        "COMPILED.clear()",
        "COMPILED['y'][0] += 1",
        "next(COMPILED['it'])",
    ],
    "CP6006": [
        "y[:] = a * x + y",
        "y[0] = 1",
        "y.sum()",
        "z = x @ y",
        "x.numpy()",
        "y.fill(0)",
        "pointer(y)[0] = 1",
    ],
}
FINE = [
    "import math\nHALF = math.sqrt(2.0) / 2",
    "from typing import NamedTuple\nclass Config(NamedTuple):\n    tile: int = 128\nCFG = Config(64)",
    "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass C:\n    n: int\n"
    "    def __post_init__(self): object.__setattr__(self, 'n', 1)",
    "class Kernel:\n    def __init__(self, tile): self.tile = tile\n    @cute.jit\n"
    "    def __call__(self, x): x[0] = self.tile",
    "from cutlass.cutlass_dsl import dsl_user_op, T\nfrom cutlass._mlir.dialects import llvm\n@dsl_user_op\n"
    "def rcp(x, *, loc=None, ip=None):\n"
    "    return llvm.inline_asm(T.f32(), [x], 'rcp.approx.f32 $0, $1;', '=f,f')",
    "import cutlass.pipeline as pipeline\nimport cutlass.utils as utils\n"
    "from cutlass.cute.nvgpu import cpasync, warp",
    "@cute.struct\nclass Shared:\n    data: cute.struct.Align[cute.struct.MemRange[Float32, 128], 16]",
    "from enum import Enum, auto\nclass Kind(Enum):\n    A = auto()\n    B = auto()",
    "import operator, functools\nOPS = {'add': operator.add}\nadd1 = functools.partial(operator.add, 1)",
    "def f(x: 'torch.Tensor', kind: type[Float32]) -> 'Optional[int]':\n"
    "    return f'{x.shape} {kind.__name__}'",
    "def f(x):\n    if isinstance(x, type): raise ValueError(type(x).__name__)\n"
    "    return getattr(x, 'shape', None)",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from collections.abc import Callable",
    "nv_expf = cute.ffi(name='__nv_expf', params_types=[Float32], return_type=Float32)",
    "def f(input, id, dir): return input + id + dir",  # as kernels call their arguments
    "@cute.jit\ndef f(x, y):\n    for i in cutlass.range(4, unroll=2): y[i] = x[i]\n    x.fill(0)",
    "TABLE = tuple(2 * i for i in range(8))",
]


def _cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(code, text) for code, texts in table.items() for text in texts]


@pytest.mark.parametrize(("code", "text"), _cases(MODULE))
def test_refused_in_a_module(tmp_path: Path, code: str, text: str) -> None:
    got = check_static(write_target(tmp_path / "t", f"{PORT}\n{text}\n"), "port.py", "saxpy")
    assert got.status == "REJECTED_STATIC"
    assert code in {got.code, *got.message.split()}, (got.code, got.message)


@pytest.mark.parametrize(("code", "text"), _cases(ENTRY))
def test_refused_in_the_launch_path(tmp_path: Path, code: str, text: str) -> None:
    assert LAUNCH in PORT
    port = PORT.replace(LAUNCH, f"    {text}\n{LAUNCH}")
    got = check_static(write_target(tmp_path / "t", port), "port.py", "saxpy")
    assert got.code == code, got.message
    assert got.line == PORT[: PORT.index(LAUNCH)].count("\n") + 1


@pytest.mark.parametrize("text", FINE)
def test_let_pass(tmp_path: Path, text: str) -> None:
    got = check_static(write_target(tmp_path / "t", f"{PORT}\n{text}\n"), "port.py", "saxpy")
    assert got.code is None, got.message


def test_all_offences_are_told_the_first_is_the_stages(tmp_path: Path) -> None:
    port = "import os\n" + PORT + "\ndef f(x):\n    exec(x)\n    return x.cpu()\n"
    got = check_static(write_target(tmp_path / "t", port), "port.py", "saxpy")
    assert (got.code, got.line) == ("CP6003", 1)
    end = port.count("\n")
    assert got.message == f"imports os; line {end - 1}: CP6005 calls exec(); line {end}: CP6006 calls .cpu()"


def test_many_offences_are_cut(tmp_path: Path) -> None:
    port = PORT + "".join(f"import os{i}\n" for i in range(25))
    got = check_static(write_target(tmp_path / "t", port), "port.py", "saxpy")
    assert got.message.endswith("and 5 more")


def test_the_entry_may_be_reached_through_helpers(tmp_path: Path) -> None:
    port = PORT + "\ndef helper(y):\n    y[0] = 1\n"
    assert check_static(write_target(tmp_path / "a", port), "port.py", "saxpy").code is None
    called = port.replace(LAUNCH, f"    helper(y)\n{LAUNCH}")
    assert check_static(write_target(tmp_path / "b", called), "port.py", "saxpy").code == "CP6006"


def test_all_ports_that_are_here_pass() -> None:
    ports = [*ROOT.glob("targets/*/port.py"), *ROOT.glob("tests/golden/expected/*.py")]
    ports += ROOT.glob("verify/canaries/*/port.py")
    assert len(ports) > 90
    for path in ports:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        entry = next(n.name[8:] for n in tree.body if getattr(n, "name", "").startswith("compile_"))
        assert offences(tree, entry) == [], path


def test_what_translated_calls_become_may_be_used() -> None:
    tables = [f for f in (ROOT / "translator/mapping").rglob("*") if f.suffix in (".toml", ".py")]
    names = {
        n for f in tables for n in re.findall(r"\b(?:cute|cutlass)(?:\.[A-Za-z_]\w*)+", f.read_text("utf-8"))
    }
    assert len(names) > 40
    whole = {n if n.startswith("cutlass.") else f"cutlass.{n}" for n in names}
    assert {n: why for n in whole if (why := closed(n))} == {}
