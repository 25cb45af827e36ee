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


def rows() -> Iterator[Row]:
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
