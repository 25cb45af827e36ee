"""`python -m tests.emulator.single.run_gpu FOLDER [PATTERN]`: runs every case on an NVIDIA GPU (sm_90a).

Writes FOLDER/h200.npz (to be committed beside this file), FOLDER/full.npz (all rows, to look into
differences) and FOLDER/refused.txt. Needs numpy and the driver alone.
"""

from __future__ import annotations

import datetime
import multiprocessing
import os
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from tests.emulator.single.cases import ROWS, Case, Slots, cases, inputs, width
from tests.emulator.single.driver import DeviceError, Gpu, RefusedError
from tests.emulator.single.kernels import GROUP, module
from tests.emulator.single.record import write

_PTX_OF_CUDA = {12080: "8.7", 12090: "8.8"}  # drivers before 13.0
_gpu: Gpu | None = None

Group = list[tuple[int, Case]]


def run_group(group: Group) -> tuple[dict[str, Slots], dict[str, str]]:
    """Outputs and refusals of the cases, each compiled by the driver. Halves a module that is refused."""
    global _gpu
    if _gpu is None:
        _gpu = Gpu()
    version = _PTX_OF_CUDA.get(_gpu.describe()[1], "8.8")
    try:
        loaded = _gpu.load(module(group, version))
    except RefusedError as refusal:
        if len(group) == 1:
            return {}, {group[0][1].key: f"refused by the driver's compiler: {refusal}"}
        half = len(group) // 2
        first, second = run_group(group[:half]), run_group(group[half:])
        return first[0] | second[0], first[1] | second[1]
    outputs: dict[str, Slots] = {}
    failed: dict[str, str] = {}
    for number, case in group:
        try:
            outputs[case.key] = _gpu.launch(loaded, f"op_{number}", inputs(case), width(case.results))
        except DeviceError as error:
            failed[case.key] = str(error)
    if not failed:
        _gpu.unload(loaded)
    return outputs, failed


def main() -> None:
    folder = Path(sys.argv[1])
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    start = time.time()
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    every = [case for case in cases() if pattern.search(case.key)]
    numbered = list(enumerate(every))
    groups = [numbered[i : i + GROUP] for i in range(0, len(numbered), GROUP)]
    outputs: dict[str, Slots] = {}
    refused: dict[str, str] = {}
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(12, os.cpu_count() or 1), mp_context=spawn) as pool:
        for done in as_completed([pool.submit(run_group, group) for group in groups]):
            outputs |= done.result()[0]
            refused |= done.result()[1]
    name, version = Gpu().describe()
    about = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "gpu": name,
        "cuda_driver": f"{version // 1000}.{version % 1000 // 10}",
        "rows": ROWS,
    }
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "h200.npz", outputs, refused, every, about)
    rows = {case.key.replace("/", "|"): outputs[case.key] for case in every if case.key in outputs}
    np.savez_compressed(folder / "full.npz", **rows)
    (folder / "refused.txt").write_text("".join(f"{key}: {why}\n" for key, why in sorted(refused.items())))
    print(f"{about}: {len(outputs)} cases run, {len(refused)} refused, {time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
