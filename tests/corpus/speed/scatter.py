"""Rows added to rows by ids, and elements kept above a limit, beside torch: see timing.py.

Ids are even over the rows, or few. Torch's own selection waits for the host: it is composed of a scan and a
scatter here. The counter is set to zero by a launch that belongs to the entry's time.
"""

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


def kept_of(name: str, count: int, limit: float) -> tuple[dict[str, Job], int]:
    x = torch.rand(count, device="cuda").to(TYPES[name])
    out, at = torch.empty(count + 1, device="cuda", dtype=x.dtype), torch.arange(count + 1, device="cuda")
    indices = torch.empty(count + 1, device="cuda", dtype=torch.int32)
    found, run = torch.zeros(1, device="cuda", dtype=torch.int32), entry("compact")
    own, many = at[:-1].to(torch.int32), int((x.float() > limit).sum())

    def ours() -> None:
        found.zero_()
        run(out, indices, found, x, count, limit, dtype=name)

    def composed() -> None:
        above = x > limit
        place = torch.where(above, torch.cumsum(above, 0) - 1, count)
        out.scatter_(0, place, x)
        indices.scatter_(0, place, own)

    return {"ours": ours, "torch": composed}, count * x.element_size() + many * (x.element_size() + 4)


def rows() -> Iterator[Row]:
    for name, count, limit in (("f32", 1 << 26, 0.5), ("f32", 1 << 26, 0.99), ("bf16", 1 << 26, 0.9)):
        jobs, size = kept_of(name, count, limit)
        yield Row(f"compact {name} {count} above {limit}", size, jobs)
    for name, tokens, hidden, count in (
        ("f32", 16384, 4096, 32000), ("bf16", 16384, 4096, 128256), ("f16", 16384, 4096, 128256),
        ("f32", 16384, 4096, 64), ("bf16", 65536, 1024, 16384),
    ):  # fmt: skip
        jobs, size = added(name, tokens, hidden, count)
        yield Row(f"scatter_add {name} {tokens}x{hidden} to {count}", size, jobs)
    for tokens in (1, 8, 64):
        jobs, size = added("bf16", tokens, 4096, 128256)
        yield Row(f"scatter_add bf16 {tokens}x4096", size, jobs, decode=True)
