"""How the corpus's speed is measured: jobs in turns, in one process. Only such times compare.

Large shapes: CUDA events around one launch, after a 512 MB fill that empties the L2 cache and a kernel that
spins while the host gets ahead; medians. Decode shapes, twice: events around one launch that waits behind the
spinning kernel, launch to end; and a graph of 64 launches, its time divided by 64, where the start of one
overlaps the end of another. Times in µs.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

KERNELS = Path(__file__).resolve().parents[3] / "corpus/kernels"
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
ROUNDS, GRAPH = 25, 64
AHEAD = 600_000  # clock cycles, some 300 µs: longer than any call from Python takes
Job = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """Jobs that do the same. The one called `ours` is the entry; `torch`, `torch.compile` and others stand
    beside it. `size`: the bytes that must move. `decode`: small, timed in a graph."""

    what: str
    size: int
    jobs: dict[str, Job]
    decode: bool = False


@cache
def entry(name: str) -> Any:
    """The entry's function, from the one folder of that name."""
    (folder,) = KERNELS.glob(f"*/{name}")
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", folder / "kernel.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


@cache
def _flush() -> torch.Tensor:
    return torch.empty(512 << 20, dtype=torch.uint8, device="cuda")


def between_events(jobs: dict[str, Job], cold: bool, clean: bool = False) -> dict[str, float]:
    """Median µs of each, in turns; `cold`: with an L2 cache that holds other lines. A job that displaces them
    has them written back, unless they are `clean`, that is read and not written."""
    times: dict[str, list[float]] = {n: [] for n in jobs}
    for job in jobs.values():
        job()
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            if cold:
                _flush().zero_()
            if clean:
                _flush().view(torch.int64).sum()
            torch.cuda._sleep(AHEAD)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            job()
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end) * 1e3)
    return {n: statistics.median(t) for n, t in times.items()}


def in_graph(jobs: dict[str, Job]) -> dict[str, float]:
    """Median µs of one launch in a graph of many, in turns."""
    graphs: dict[str, torch.cuda.CUDAGraph] = {}
    for name, job in jobs.items():
        job()
        torch.cuda.synchronize()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for _ in range(GRAPH):
                job()
    times: dict[str, list[float]] = {n: [] for n in jobs}
    for _ in range(ROUNDS):
        for name, graph in graphs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end) * 1e3 / GRAPH)
    return {n: statistics.median(t) for n, t in times.items()}


def copy_job(size: int) -> Job:
    """torch's copy that reads size / 2 bytes and writes as many."""
    source = torch.ones(max(1, size // 2), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def nearly_empty() -> Job:
    """A kernel that writes one number: what a launch costs at least."""
    one = torch.zeros(1, device="cuda")
    return lambda: one.zero_()
