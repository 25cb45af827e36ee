"""The CUDA source as ordinary C++: g++ with the shim headers, one thread after the other."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from translator.model.kernel import KernelModel

SHIM = Path(__file__).parent / "shim"
# No contraction: a*b+c is two roundings, as in the port's host code. Signed overflow is defined, to be safe.
FLAGS = (
    "-std=c++17",
    "-O0",
    "-w",
    "-fPIC",
    "-shared",
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
)
_LAUNCH = re.compile(r"[\w:]+(?:<[^<>()]*>)?\s*<<<.*?>>>\s*\(", re.DOTALL)
_CUDA_CALL = re.compile(r"\bcuda\w+\(")


class Original:
    """The kernels of one source file, callable on host memory."""

    def __init__(self, source: Path, models: Sequence[KernelModel], folder: Path, *flags: str) -> None:
        """Builds; raises CalledProcessError where g++ refuses."""
        text = source.read_bytes().decode("latin-1").removeprefix("ï»¿")
        text = _CUDA_CALL.sub("HOST_CALL(", _LAUNCH.sub("HOST_CALL(", text))
        lines = ["#define HOST_CALL(...) ((void)0)", '#include "entry.h"', f'#line 1 "{source.name}"', text]
        for k, model in enumerate(models):
            lines.append(
                f'extern "C" void entry_{k}(void *const *a, const unsigned *g, const unsigned *b) '
                f"{{ differential::launch(&{model.cuda_name}, a, g, b); }}"
            )
            for g in model.globals:
                lines.append(
                    f'extern "C" void *global_{k}_{g.var.name}() {{ return (void *)&{g.var.name}; }}'
                )
        made = folder / f"{source.stem}.cpp"
        made.write_bytes("\n".join(lines).encode("latin-1") + b"\n")
        library = made.with_suffix(".so")
        command = [
            "g++",
            *FLAGS,
            *flags,
            "-I",
            str(SHIM),
            "-I",
            str(source.parent),
            str(made),
            "-o",
            str(library),
        ]
        subprocess.run(command, check=True, capture_output=True, text=True)
        self._library = ctypes.CDLL(str(library))

    def launch(
        self, number: int, values: Sequence[int], grid: tuple[int, ...], block: tuple[int, ...]
    ) -> None:
        """Runs kernel `number`; `values` are the host addresses of the parameters' values, in order."""
        three = ctypes.c_uint * 3
        args = (ctypes.c_void_p * max(1, len(values)))(*values)
        self._library[f"entry_{number}"](args, three(*grid), three(*block))

    def address(self, number: int, name: str) -> int:
        """Where global `name` of kernel `number` lies."""
        found = self._library[f"global_{number}_{name}"]
        found.restype = ctypes.c_void_p
        return int(found())
