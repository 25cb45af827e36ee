"""Random kernels through both sides: `python -m tests.differential.fuzz --seeds 0-99`."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.differential.generator import THREADS, source
from tests.differential.session import Outcome, judge

BATCH = 20


def run(seeds: range, folder: Path, *, ptx: bool = False, flags: Sequence[str] = ()) -> dict[str, Outcome]:
    """Kernel name → outcome, for one kernel per seed."""
    jobs = []
    for start in range(seeds.start, seeds.stop, BATCH):
        path = folder / f"fuzz_{start}.cu"
        path.write_text(source(range(start, min(start + BATCH, seeds.stop))))
        job = {"source": str(path), "n": 40, "seeds": [1, 2, 3], "grid": [1, 1, 1], "block": [THREADS, 1, 1]}
        jobs.append({**job, "ptx": ptx, "flags": list(flags)})
    return {kernel: outcome for (_, kernel), outcome in judge(jobs).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0-19", help="A-B, both included")
    parser.add_argument("--ptx", action="store_true", help="compile each port for a GPU too")
    parser.add_argument("--keep", type=Path, help="where to leave the sources")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        found = run(range(int(first), int(last or first) + 1), folder, ptx=options.ptx)
    for kernel, outcome in found.items():
        if outcome.status != "equal":
            print(f"{kernel}: {outcome.status}: {outcome.detail[-300:]}")
    print(dict(Counter(o.status for o in found.values())))


if __name__ == "__main__":
    main()
