"""Conversions that the DSL's host code may call and that the C compiler's library may not have."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")


def provide(folder: Path) -> ctypes.CDLL:
    """Builds them into `folder` and loads them; without them a CPU that lacks bfloat16 can't run a port.

    They are visible to all of the process: that is where the DSL's JIT looks for what its own library lacks.
    """
    library = folder / "conversions.so"
    command = ["gcc", "-O1", "-fPIC", "-shared", str(SOURCE), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
