"""Stencils beside torch: see timing.py."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry


def weighted(name: str, count: int, radius: int) -> tuple[dict[str, Job], int]:
    x = torch.randn(count, device="cuda").to(TYPES[name])
    out, weights = torch.empty_like(x), torch.randn(2 * radius + 1, device="cuda")
    kernel, image = weights.to(x.dtype)[None, None], x[None, None]
    run = entry("stencil_1d")
    jobs: dict[str, Job] = {
        "ours": lambda: run(out, x, weights, count, radius, dtype=name),
        "torch": lambda: torch.nn.functional.conv1d(image, kernel, padding=radius),
    }
    return jobs, 2 * count * x.element_size()


def rows() -> Iterator[Row]:
    for name, count, radius in (
        ("f32", 1 << 26, 3),
        ("f32", 1 << 26, 8),
        ("bf16", 1 << 26, 3),
        ("f16", 1 << 26, 1),
    ):
        jobs, size = weighted(name, count, radius)
        yield Row(f"stencil_1d {name} {count} radius {radius}", size, jobs)
    for count in (1024, 8192, 65536):
        jobs, size = weighted("f32", count, 3)
        yield Row(f"stencil_1d f32 {count} radius 3", size, jobs, decode=True)
