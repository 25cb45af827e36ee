"""Rows added to rows by ids beside torch: see timing.py. Ids are even over the rows, or few."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry


def added(name: str, tokens: int, hidden: int, count: int) -> tuple[dict[str, Job], int]:
    x = torch.randn(tokens, hidden, device="cuda").to(TYPES[name])
    out = torch.zeros(count, hidden, device="cuda", dtype=x.dtype)
    ids = torch.randint(0, count, (tokens,), device="cuda", dtype=torch.int32)
    run = entry("scatter_add")
    jobs: dict[str, Job] = {
        "ours": lambda: run(out, x, ids, tokens, hidden, count, hidden, hidden, dtype=name),
        "torch": lambda: out.index_add_(0, ids, x),
    }
    return jobs, tokens * (hidden * x.element_size() + 4) + 2 * min(tokens, count) * hidden * x.element_size()


def rows() -> Iterator[Row]:
    for name, tokens, hidden, count in (
        ("f32", 16384, 4096, 32000), ("bf16", 16384, 4096, 128256), ("f16", 16384, 4096, 128256),
        ("f32", 16384, 4096, 64), ("bf16", 65536, 1024, 16384),
    ):  # fmt: skip
        jobs, size = added(name, tokens, hidden, count)
        yield Row(f"scatter_add {name} {tokens}x{hidden} to {count}", size, jobs)
    for tokens in (1, 8, 64):
        jobs, size = added("bf16", tokens, 4096, 128256)
        yield Row(f"scatter_add bf16 {tokens}x4096", size, jobs, decode=True)
