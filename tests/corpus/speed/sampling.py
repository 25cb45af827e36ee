"""Sampling of tokens beside torch's operators and beside other launch plans: see timing.py.

torch has no operator for top-p: beside the entry stands what is written with it, softmax, sort, running sums
and a search. A job called `(threads, blocks)` is the entry with that plan in place of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tests.corpus.speed.softmax import Plans, planned
from tests.corpus.speed.timing import TYPES, Job, Row, entry


def drawn_by_sorting(
    x: torch.Tensor, temperature: torch.Tensor, top_p: torch.Tensor, uniform: torch.Tensor
) -> torch.Tensor:
    """A token a row, (rows,); of kept ones in the order of their probabilities."""
    falling, order = torch.softmax(x.float() / temperature[:, None], 1).sort(1, descending=True)
    kept = falling.masked_fill(falling.cumsum(1) - falling > top_p[:, None], 0.0)
    running = kept.cumsum(1)
    place = torch.searchsorted(running, uniform[:, None] * running[:, -1:], right=True)
    return order.gather(1, place.clamp_max(x.shape[1] - 1))[:, 0]


def top_p_jobs(name: str, rows: int, columns: int, plans: Plans = ()) -> tuple[dict[str, Job], int]:
    kind = TYPES[name]
    x = (2 * torch.randn(rows, columns, device="cuda")).to(kind)
    index = torch.empty(rows, device="cuda", dtype=torch.int64)
    temperature, top_p = (torch.full((rows,), n, device="cuda") for n in (0.8, 0.9))
    uniform = torch.rand(rows, device="cuda")
    run = entry("top_p_sample")
    facts = (temperature, top_p, uniform)
    jobs: dict[str, Job] = {
        "ours": lambda: run(index, x, *facts, rows, columns, columns, dtype=name, index_dtype="i64"),
        "torch": lambda: drawn_by_sorting(x, *facts),
    }
    known = {"dtype": name, "index_dtype": "i64", "rows": rows, "columns": columns}
    pointers = ((index, 1), (x, 16 // kind.itemsize), *((t, 1) for t in facts))
    for plan in plans:
        numbers = (("Int32", rows), ("Int64", columns))
        jobs[str(plan)] = planned("top_p_sample", plan, known, pointers, numbers)
    return jobs, rows * columns * kind.itemsize


def rows() -> Iterator[Row]:
    for name, count, columns, plans in (
        ("bf16", 1024, 32000, ((512, 2), (512, 4))),
        ("bf16", 512, 128256, ((1024, 8), (512, 8))),
        ("f16", 256, 262144, ()),
        ("f32", 512, 128256, ((1024, 8), (512, 8))),
        ("f32", 4096, 1024, ((32, 1), (256, 1))),
    ):
        jobs, size = top_p_jobs(name, count, columns, plans)
        yield Row(f"top_p_sample {name} {count}x{columns}", size, jobs)
    for count in (1, 8, 64):
        for columns in (32000, 128256):
            jobs, size = top_p_jobs("bf16", count, columns)
            yield Row(f"top_p_sample bf16 {count}x{columns}", size, jobs, decode=True)
