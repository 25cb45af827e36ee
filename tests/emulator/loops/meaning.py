"""What the PTX of both compilers means, by the emulator.

    python -m tests.emulator.loops.meaning build/loops [SWEEP.ptx.tar.xz]

Says which kernels' PTX does not give the expected values, so that a wrong value on a GPU is known to come
from the step from PTX to machine code. Compiles the PTX, or takes that which a sweep kept.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.emulator.loops.sweep import compile_cuda, compile_dsl, entry_of
from verify.emulator.device import EmulatedDevice
from verify.emulator.launch import LaunchShape, RunOptions
from verify.emulator.opening import open_program

SIDES = ("cuda", "dsl", "while")
_KINDS = {"Int32": np.int32, "Uint32": np.uint32, "Int64": np.int64}


def differing(ptx: str, unit: dict[str, Any], held: dict[str, Any]) -> Iterator[str]:
    """Kernels of a unit whose PTX, executed in the emulator, gives other values than expected."""
    kind, threads = _KINDS[unit["dtype"]], held["threads"]
    device = EmulatedDevice()
    sides = [np.array(held[k], kind).view(np.uint8) for k in ("first", "second", "first")]
    places = [device.alloc(len(s), n) for s, n in zip(sides, "abo", strict=True)]
    for at, data in zip(places, sides, strict=True):
        device.upload(at, data)
    program = open_program(ptx)
    entries = [f.name for f in program.module.functions.values() if f.entry]
    params = [at.to_bytes(8, "little") for at in places]
    for loop in unit["loops"]:
        device.poison(places[2], 0xA5, len(sides[2]))
        ran = program.run(
            entry_of(loop["name"], entries),
            LaunchShape((1, 1, 1), (threads, 1, 1)),
            params,
            device.memory,
            RunOptions(budget=100_000_000),
        )
        found = device.download(places[2], len(sides[2])).view(kind).tolist()
        if found != loop["values"] or ran.findings:
            yield loop["name"]


def texts(folder: Path, held: dict[str, Any], kept: Path | None) -> Iterator[tuple[str, str, str]]:
    """(side, unit, PTX) of all units, compiled here or kept by a sweep."""
    with tempfile.TemporaryDirectory(prefix="loops-") as scratch:
        out = Path(scratch)
        if kept is not None:
            with tarfile.open(kept) as archive:
                archive.extractall(out, filter="data")
        for name, unit in held["units"].items():
            if kept is None:
                compile_cuda(folder, name, out)
                compile_dsl(folder, name, unit["dtype"], out)
                compile_dsl(folder, name, unit["dtype"], out, "while")
            for side in SIDES:
                yield side, name, (out / f"{side}-{name}.ptx").read_text(encoding="utf-8")


def main(folder: Path, kept: Path | None = None) -> int:
    """Execute all units; the number of differing kernels."""
    held = json.loads((folder / "loops.json").read_text(encoding="utf-8"))
    wrong = 0
    for side, name, ptx in texts(folder, held, kept):
        found = list(differing(ptx, held["units"][name], held))
        wrong += len(found)
        print(side, name, "differs:" if found else "right", *found, flush=True)
    print(f"{wrong} of {len(SIDES) * sum(len(u['loops']) for u in held['units'].values())} differ")
    return wrong


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])) > 0)
