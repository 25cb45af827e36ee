"""`python -m tests.emulator.single.compare FULL.npz [PATTERN]`: where the emulator differs from a GPU.

Prints per case that differs how many rows do, and of the first: operands, the GPU's bits, the emulator's.
Then the largest errors of approximate cases, as in errors.toml.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.emulator.single.cases import cases, inputs
from tests.emulator.single.native import build, run
from tests.emulator.single.tolerance import differs, errors

_SHOWN = 4


def main() -> None:
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    every = [case for case in cases() if pattern.search(case.key)]
    bad = 0
    largest: list[str] = []
    with np.load(sys.argv[1]) as full, tempfile.TemporaryDirectory() as folder:
        every = [case for case in every if case.key.replace("/", "|") in full.files]
        library = build(every, Path(folder))
        for number, case in enumerate(every):
            gpu, emulator = full[case.key.replace("/", "|")], run(library, number, case)
            rows = np.flatnonzero(differs(case, gpu, emulator))
            if case.op.approximate:
                found = errors(case, gpu, emulator)
                largest.append(f'"{case.key}" = {{ ulp = {found.ulp:.4g}, abs = {found.absolute:.3g} }}')
            if len(rows):
                bad += 1
                given = inputs(case)
                print(f"{case.key}: {len(rows)} rows")
                for row in rows[:_SHOWN]:
                    hexes = (" ".join(f"{int(x):x}" for x in part[row]) for part in (given, gpu, emulator))
                    print("   operands {}  gpu {}  emulator {}".format(*hexes))
    print(*largest, sep="\n")
    print(f"{len(every)} cases, {bad} differ")


if __name__ == "__main__":
    main()
