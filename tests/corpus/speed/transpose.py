"""Transposes of matrices and permutes of heads beside torch: see timing.py."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry


def turned(name: str, count: int, columns: int, more: bool = False) -> tuple[dict[str, Job], int]:
    x = torch.randn(count, columns, device="cuda").to(TYPES[name])
    out = torch.empty(columns, count, device="cuda", dtype=x.dtype)
    run = entry("transpose")
    jobs: dict[str, Job] = {
        "ours": lambda: run(out, x, count, columns, columns, count, dtype=name),
        "torch": lambda: out.copy_(x.t()),
    }
    if more:
        compiled = torch.compile(lambda a: a.t().contiguous())
        jobs["torch.compile"] = lambda: compiled(x)
    return jobs, 2 * x.numel() * x.element_size()


def permuted(batch: int, seq: int, heads: int, dim: int, inverse: bool) -> tuple[dict[str, Job], int]:
    by_token, by_head = (batch, seq, heads, dim), (batch, heads, seq, dim)
    shape, other = (by_head, by_token) if inverse else (by_token, by_head)
    x = torch.randn(shape, device="cuda").bfloat16()
    out = torch.empty(other, device="cuda", dtype=x.dtype)
    run = entry("permute_heads")
    facts = (batch, seq, heads, dim, heads * dim)
    jobs: dict[str, Job] = {
        "ours": lambda: run(out, x, *facts, dtype="bf16", inverse=inverse),
        "torch": lambda: out.copy_(x.transpose(1, 2)),
    }
    return jobs, 2 * x.numel() * x.element_size()


def rows() -> Iterator[Row]:
    for name, count, columns, more in (
        ("bf16", 8192, 8192, True), ("f32", 8192, 8192, True), ("bf16", 16384, 4096, False),
        ("bf16", 8191, 8192, False), ("f32", 4095, 4097, False),
    ):  # fmt: skip
        jobs, size = turned(name, count, columns, more)
        yield Row(f"transpose {name} {count}x{columns}", size, jobs)
    for inverse in (False, True):
        for batch, seq, heads, dim in ((4, 4096, 32, 128), (4, 4096, 16, 64), (1, 8192, 40, 128)):
            jobs, size = permuted(batch, seq, heads, dim, inverse)
            what = f"permute_heads bf16 {batch}x{seq}x{heads}x{dim}" + " back" * inverse
            yield Row(what, size, jobs)
    for tokens in (1, 8, 64):
        jobs, size = permuted(tokens, 1, 32, 128, False)
        yield Row(f"permute_heads bf16 {tokens}x1x32x128", size, jobs, decode=True)
