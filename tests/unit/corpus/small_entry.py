"""A small entry on disk for the tests of the corpus; nothing of it is ever compiled."""

from __future__ import annotations

from pathlib import Path

ENTRY = """schema = 1
id = "twice"
family = "toys"
summary = "Doubles a vector"
idioms = ["scalar loop"]
teaches = ["grid-stride loop"]
dtypes = ["f32"]
arch_min = "sm_80"
arch_tested = []
dsl = ">=4.8,<5"
blocks = ["one", "two"]
lessons = ["Doubling is easy."]

[provenance]
origin = "written here"
license = "MIT"
technique = "known to all"

[same]
"a + b → b + a" = "sums commute"

[[variant]]
name = "f32"
values = { dtype = "f32" }

[[variant]]
name = "f16"
values = { dtype = "f16" }
"""
KERNEL = '''"""Doubles.

Shapes: x has n elements.
Algorithm:

    gX → rX → gX

Units: elements. Traffic: 2 n.
Source of the technique: none.
"""

import functools

import cutlass
import cutlass.cute as cute

# -- block one
# -- block two


@cute.kernel
def twice_kernel(mX: cute.Tensor, width: cutlass.Constexpr):
    gX = cute.local_tile(mX, (width,), (0,))
    tXrX = cute.make_fragment_like(gX)


@functools.cache
def compile_twice(dtype):
    """Compiled."""
    return cute.compile(twice_kernel)


def twice(x, n, *, dtype, stream=None):
    """Doubles."""
    compile_twice(dtype)(x, n)
'''
NOTES = """# Twice

| CUDA | CuTe DSL |
| --- | --- |
| `x[i] * 2` | `x * 2` |

## Pitfalls

- None.
"""
SPEC = """schema = 1
name = "twice"
[original]
source = "cuda.cu"
kernel = "twice"
[port]
module = "kernel.py"
entry = "twice"
constants = { dtype = "${dtype}" }
[launch]
grid = ["1"]
block = ["32"]
[[arg]]
name = "x"
kind = "buffer"
dtype = "${dtype}"
elems = "n"
role = "inout"
[[arg]]
name = "n"
kind = "scalar"
dtype = "i32"
value = "n"
[[case]]
name = "one"
role = "boundary"
sizes = { n = 1 }
"""
ONE = '"""The first."""\n\nimport functools\n\nFIRST = 1\n\n\ndef one():\n    """One."""\n    return FIRST\n'
TWO = '''"""The second."""

import cutlass

from corpus.blocks.one import one

# about two
def two():
    """Two."""
    return one() + 1
'''


def write_blocks(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('"""Blocks."""\n')
    (folder / "one.py").write_text(ONE)
    (folder / "two.py").write_text(TWO)
    return folder


def write_entry(root: Path, **files: str) -> Path:
    """The entry `toys/twice` below `root`; `files` by stem replace its own texts."""
    folder = root / "toys" / "twice"
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "entry.toml": ENTRY,
        "kernel.py": KERNEL,
        "cuda.cu": "__global__ void twice(float* x, int n) {}\n",
    }
    texts |= {"reference.py": '"""Doubles."""\n', "notes.md": NOTES, "spec.toml": SPEC}
    for name, text in texts.items():
        (folder / name).write_text(files.get(name.partition(".")[0], text), encoding="utf-8")
    return folder
