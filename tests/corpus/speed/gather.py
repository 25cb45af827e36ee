"""Rows of embedding tables beside torch, with other launch plans in two rows: see timing.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry

PLANS = {
    f"{lanes}x{each}": (lanes, each, 1) for lanes, each in ((128, 1), (256, 1), (256, 2), (128, 4), (512, 4))
}


def planned(tensors: list[torch.Tensor], checked: bool, count: int, plan: tuple[int, int, int]) -> Job:
    """A launch of the compiled kernel by another plan than the entry chooses; rows without gaps, i64 ids."""
    out, table, ids = tensors
    module, (tokens, hidden) = sys.modules[entry("embedding_gather").__module__], out.shape
    (name,) = (n for n, kind in TYPES.items() if kind == out.dtype)
    kind = module.ELEMENTS[name]
    run = module.compile_embedding_gather(
        name, "i64", checked, tokens, hidden, plan=plan, device=module.device_facts()
    )
    pointers = [module.device_pointer(t, kind, 128 // kind.width) for t in (out, table)]
    numbers = [module.Int32(tokens), module.Int64(0), module.Int32(count), *[module.Int64(hidden)] * 2]
    pointers.append(module.device_pointer(ids, module.Int64, 1))
    return lambda: run(*pointers, *numbers, module.cuda.CUstream(torch.cuda.current_stream().cuda_stream))


def gathered(
    dtype: str, tokens: int, hidden: int, vocabulary: int, checked: bool, more: bool = False
) -> tuple[dict[str, Job], int]:
    table = torch.randn(vocabulary, hidden, device="cuda").to(TYPES[dtype])
    ids = torch.randint(0, vocabulary, (tokens,), device="cuda")
    out = torch.empty(tokens, hidden, device="cuda", dtype=table.dtype)
    run = entry("embedding_gather")
    facts = (checked, tokens, hidden, 0, vocabulary, hidden, hidden)
    jobs: dict[str, Job] = {
        "ours": lambda: run(out, table, ids, *facts, dtype=dtype, ids_dtype="i64"),
        "torch": lambda: torch.nn.functional.embedding(ids, table),
    }
    if more:
        compiled = torch.compile(torch.nn.functional.embedding)
        jobs["torch.compile"] = lambda: compiled(ids, table)
        for name, plan in PLANS.items():
            jobs[name] = planned([out, table, ids], checked, vocabulary, plan)
    return jobs, tokens * (2 * hidden * table.element_size() + ids.element_size())


def bags_of(dtype: str, bags: int, most: int, hidden: int, count: int) -> tuple[dict[str, Job], int]:
    """Whole bags with weights; torch counts the uses of rows by a launch of its own."""
    table = torch.randn(count, hidden, device="cuda").to(TYPES[dtype])
    ids = torch.randint(0, count, (bags, most), device="cuda")
    weights = torch.rand(bags, most, device="cuda")
    same, flat = weights.to(table.dtype), ids.view(-1)
    lengths = torch.full((bags,), most, device="cuda", dtype=torch.int32)
    uses = torch.zeros(count, device="cuda", dtype=torch.int32)
    ones = torch.ones(bags * most, device="cuda", dtype=torch.int32)
    out, run = torch.empty(bags, hidden, device="cuda", dtype=table.dtype), entry("embedding_bag")
    given, facts = (out, uses, table, ids, weights, lengths), (bags, most, hidden, count, hidden, hidden)

    def by_torch() -> None:
        torch.nn.functional.embedding_bag(ids, table, per_sample_weights=same, mode="sum")
        uses.scatter_add_(0, flat, ones)

    jobs: dict[str, Job] = {
        "ours": lambda: run(*given, *facts, dtype=dtype, ids_dtype="i64", mode="sum"),
        "torch": by_torch,
    }
    return jobs, bags * (most * (hidden * table.element_size() + 16) + hidden * table.element_size())


def rows() -> Iterator[Row]:
    for dtype, bags, most, hidden, count in (
        ("bf16", 16384, 32, 256, 1_000_000), ("f32", 16384, 32, 128, 1_000_000),
        ("f16", 4096, 100, 512, 200_000),
    ):  # fmt: skip
        jobs, size = bags_of(dtype, bags, most, hidden, count)
        yield Row(f"embedding_bag {dtype} {bags}x{most} of {count}x{hidden}", size, jobs)
    for dtype, tokens, hidden, vocabulary, checked, more in (
        ("bf16", 16384, 4096, 128256, False, True), ("bf16", 16384, 4096, 128256, True, False),
        ("bf16", 65536, 1024, 151936, True, True), ("bf16", 16384, 7168, 129280, False, False),
        ("f32", 16384, 4096, 32000, False, False),
    ):  # fmt: skip
        jobs, size = gathered(dtype, tokens, hidden, vocabulary, checked, more)
        kind = "checked" if checked else "unchecked"
        yield Row(f"embedding_gather {kind} {dtype} {tokens}x{hidden} of {vocabulary}", size, jobs)
    for tokens in (1, 8, 64):
        jobs, size = gathered("bf16", tokens, 4096, 128256, True)
        yield Row(f"embedding_gather checked bf16 {tokens}x4096", size, jobs, decode=True)
