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


def around(name: str, sides: tuple[int, int], radius: int, clamped: int) -> tuple[dict[str, Job], int]:
    x = torch.randn(sides, device="cuda").to(TYPES[name])
    taps = 2 * radius + 1
    out, weights = torch.empty_like(x), torch.randn(taps, taps, device="cuda")
    kernel, image = weights.to(x.dtype)[None, None], x[None, None]
    run = entry("stencil_2d")

    def plain() -> torch.Tensor:
        if not clamped:
            return torch.nn.functional.conv2d(image, kernel, padding=radius)
        padded = torch.nn.functional.pad(image, [radius] * 4, mode="replicate")
        return torch.nn.functional.conv2d(padded, kernel)

    facts = (*sides, sides[1], sides[1], radius, clamped)
    jobs: dict[str, Job] = {"ours": lambda: run(out, x, weights, *facts, dtype=name), "torch": plain}
    return jobs, 2 * x.numel() * x.element_size()


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
    for name, side, radius, clamped in (
        ("f32", 8192, 1, 0),
        ("f32", 8192, 3, 1),
        ("bf16", 8192, 1, 1),
        ("bf16", 8192, 2, 0),
        ("f16", 8192, 3, 1),
    ):
        jobs, size = around(name, (side, side), radius, clamped)
        what = f"stencil_2d {name} {side}x{side} radius {radius}"
        yield Row(what + clamped * " clamped", size, jobs)
    for side in (64, 256, 1024):
        jobs, size = around("f32", (side, side), 1, 1)
        yield Row(f"stencil_2d f32 {side}x{side} radius 1 clamped", size, jobs, decode=True)
