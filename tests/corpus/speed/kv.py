"""Appending to a paged cache beside torch's index_copy_ and torch.compile, and plans beside each other.

See timing.py. `128x2` is a launch plan: lanes of a chunk of a row, tokens of a thread.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry

PLANS = {f"{lanes}x{each}": (lanes, each, 1) for lanes in (64, 128, 256) for each in (1, 2, 4)}


def append_by_torch(
    key: torch.Tensor, value: torch.Tensor, caches: torch.Tensor, slots: torch.Tensor,
    scales: list[torch.Tensor],
) -> None:  # fmt: skip
    """Rows of K and V to their slots of both caches, (2, slots, heads, dim), as they are or as e4m3."""
    for rows, into, scale in zip((key, value), caches, scales, strict=True):
        if into.dtype == torch.float8_e4m3fn:
            codes = (rows.float() * (1.0 / scale)).clamp(-448, 448).to(into.dtype)
            into.view(torch.uint8).index_copy_(0, slots, codes.view(torch.uint8))
        else:
            into.index_copy_(0, slots, rows)


def jobs_of(
    name: str, cache: str, tokens: int, heads: int, dim: int, heads_first: bool = False, more: bool = False,
    block_size: int = 16,
) -> tuple[dict[str, Job], int]:  # fmt: skip
    """The ways to append rows of a fused qkv tensor to a cache of twice as many slots, and the bytes that
    must move. Torch has K's and V's rows in the order of the cache with tokens first."""
    kind, blocks = TYPES[name], -(-2 * tokens // block_size)
    code = torch.float8_e4m3fn if cache == "e4m3" else kind
    qkv = torch.randn(tokens, 6 * heads, dim, device="cuda").to(kind)
    key, value = qkv[:, 4 * heads : 5 * heads], qkv[:, 5 * heads :]
    caches = torch.zeros(2, blocks * block_size, heads, dim, device="cuda").to(code)
    scales = [torch.full((1,), 0.02, device="cuda") for _ in range(2)]
    slots = torch.randperm(blocks * block_size, device="cuda")[:tokens]
    run, stride = entry("kv_cache_append"), qkv.stride(0)
    numbers = (tokens, heads, dim, block_size, stride, stride, block_size * heads * dim)
    given = (key, value, *caches, slots, *scales)
    module = sys.modules[run.__module__]

    def planned(plan: tuple[int, int, int]) -> Job:
        compiled = module.compile_kv_cache_append(
            name, cache, "i64", tokens, heads, dim, block_size, heads_first, plan=plan
        )
        element, width = module.ELEMENTS[name], 128 // module.ELEMENTS[name].width
        held = module.cache_element(cache, element)
        kinds = (element, element, held, held, module.Int64, module.Float32, module.Float32)
        pointers = [
            module.device_pointer(t, k, width if n < 4 else 1)
            for n, (t, k) in enumerate(zip(given, kinds, strict=True))
        ]
        counts = [module.Int32(tokens), *(module.Int64(n) for n in numbers[4:])]
        return lambda: compiled(
            *pointers, *counts, module.cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        )

    jobs: dict[str, Job] = {
        "ours": lambda: run(*given, heads_first, *numbers, dtype=name, cache=cache, slots_dtype="i64"),
        "torch": lambda: append_by_torch(key, value, caches, slots, scales),
    }
    if more:
        compiled = torch.compile(append_by_torch)
        jobs["torch.compile"] = lambda: compiled(key, value, caches, slots, scales)
        jobs |= {text: planned(plan) for text, plan in PLANS.items()}
    return jobs, 2 * tokens * heads * dim * (kind.itemsize + code.itemsize) + tokens * slots.itemsize


def rows() -> Iterator[Row]:
    for name, cache, tokens, heads, dim, heads_first, more in (
        ("bf16", "same", 16384, 8, 128, False, True), ("bf16", "same", 16384, 8, 128, True, False),
        ("bf16", "e4m3", 16384, 8, 128, False, True), ("bf16", "e4m3", 65536, 4, 128, False, False),
        ("f16", "same", 16384, 8, 64, False, False), ("f32", "same", 16384, 8, 128, False, False),
    ):  # fmt: skip
        jobs, size = jobs_of(name, cache, tokens, heads, dim, heads_first, more)
        way = "heads first" if heads_first else "tokens first"
        yield Row(f"kv_cache_append {way} {name} {cache} {tokens}x{heads}x{dim}", size, jobs)
    for tokens in (1, 8, 64, 512):
        for cache in ("same", "e4m3"):
            jobs, size = jobs_of("bf16", cache, tokens, 8, 128)
            yield Row(f"kv_cache_append bf16 {cache} {tokens}x8x128", size, jobs, decode=True)
