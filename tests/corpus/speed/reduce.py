"""Sums of whole arrays beside torch: see timing.py."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry

ALL = {**TYPES, "i32": torch.int32}
PARTIALS = 1056


def sums(name: str, count: int, more: bool = False) -> tuple[dict[str, Job], int]:
    x = torch.randn(count, device="cuda").to(ALL[name])
    total = torch.int32 if name == "i32" else torch.float32
    out, partial = (torch.empty(n, device="cuda", dtype=total) for n in (1, PARTIALS))
    ticket = torch.zeros(1, device="cuda", dtype=torch.int32)
    run = entry("array_sum")
    jobs: dict[str, Job] = {
        "ours": lambda: run(out, x, partial, ticket, count, PARTIALS, dtype=name),
        "132 blocks": lambda: run(out, x, partial, ticket, count, 132, dtype=name),
        "torch": lambda: torch.sum(x, dtype=total),
    }
    if more:
        compiled = torch.compile(torch.sum)
        jobs["torch.compile"] = lambda: compiled(x, dtype=total)
    return jobs, count * x.element_size()


def rows() -> Iterator[Row]:
    for name, count, more in (
        ("f32", 1 << 26, True), ("bf16", 1 << 27, True), ("i32", 1 << 26, False),
        ("f32", (1 << 26) + 3, False), ("bf16", 1 << 22, False),
    ):  # fmt: skip
        jobs, size = sums(name, count, more)
        yield Row(f"array_sum {name} {count}", size, jobs)
    for count in (1024, 8192, 65536):
        jobs, size = sums("f32", count)
        yield Row(f"array_sum f32 {count}", size, jobs, decode=True)
