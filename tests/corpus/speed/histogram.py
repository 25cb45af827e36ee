"""Histograms of integer keys beside torch: see timing.py. Keys are even over the bins, or all the same."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import Job, Row, entry


def counted(count: int, bins: int, spread: bool = True) -> tuple[dict[str, Job], int]:
    keys = torch.randint(0, bins if spread else 1, (count,), device="cuda", dtype=torch.int32)
    counts = torch.zeros(bins, device="cuda", dtype=torch.int32)
    run = entry("histogram")
    jobs: dict[str, Job] = {
        "ours": lambda: run(counts, keys, count, bins, dtype="i32"),
        "torch": lambda: torch.bincount(keys, minlength=bins),
    }
    return jobs, count * keys.element_size()


def rows() -> Iterator[Row]:
    for count, bins, spread in (
        (1 << 26, 256, True), (1 << 26, 16, True), (1 << 26, 2048, True), (1 << 26, 8192, True),
        (1 << 26, 256, False),
    ):  # fmt: skip
        jobs, size = counted(count, bins, spread)
        yield Row(f"histogram i32 {count} of {bins}" + " in one bin" * (not spread), size, jobs)
    for count in (8192, 65536):
        jobs, size = counted(count, 256)
        del jobs["torch"]  # asks the GPU for the largest key, and waits: no graph can hold it
        yield Row(f"histogram i32 {count} of 256", size, jobs, decode=True)
