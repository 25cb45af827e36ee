"""Running sums beside torch: see timing.py."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry

ALL = {**TYPES, "i32": torch.int32}


def scans(name: str, count: int) -> tuple[dict[str, Job], int]:
    x = torch.randn(count, device="cuda").to(ALL[name])
    out = torch.empty_like(x)
    state = torch.zeros(-(-count // 256), device="cuda", dtype=torch.int64)
    ticket = torch.zeros(1, device="cuda", dtype=torch.int32)
    run = entry("inclusive_scan")
    jobs: dict[str, Job] = {
        "ours": lambda: run(out, x, state, ticket, count, dtype=name),
        "torch": lambda: torch.cumsum(x, 0, dtype=x.dtype),
    }
    return jobs, 2 * count * x.element_size()


def rows() -> Iterator[Row]:
    for name, count in (("f32", 1 << 26), ("bf16", 1 << 26), ("i32", 1 << 26), ("f32", (1 << 24) + 3)):
        jobs, size = scans(name, count)
        yield Row(f"inclusive_scan {name} {count}", size, jobs)
    for count in (1024, 8192, 65536):
        jobs, size = scans("i32", count)
        yield Row(f"inclusive_scan i32 {count}", size, jobs, decode=True)
