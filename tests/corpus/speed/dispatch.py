"""Dispatch to experts beside torch, and its plans beside each other: see timing.py.

Rows "switch …" are for where one launch stops being the faster way: the plan that is chosen, both fused ones
as far as they go, and two launches, from 1 to 4096 tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry

MOST_FUSED = 512  # tokens of 8 choices: the slots that a block has room for
COPIES = ((128, 4), (128, 8), (256, 2), (256, 4), (512, 2))  # threads, vectors of the second launch


def jobs_of(
    name: str, tokens: int, hidden: int, experts: int, top_k: int, pad: int, zero: int = 0
) -> tuple[dict[str, Job], int]:
    """The ways to dispatch, and the bytes that must move. Torch gets its slots by a stable sort of ids and
    the padding by a scan of the counts: as many operators as it takes."""
    kind, device = TYPES[name], "cuda"
    x = torch.randn(tokens, hidden, device=device).to(kind)
    scores = torch.rand(tokens, experts, device=device)
    ids = scores.topk(top_k, dim=1).indices.to(torch.int32)
    out = torch.zeros(tokens * top_k + experts * (pad - 1), hidden, device=device, dtype=kind)
    counts, offsets, slots, barrier = (
        torch.zeros(n, device=device, dtype=torch.int32) for n in (experts, experts + 1, tokens * top_k, 1)
    )
    run = entry("dispatch")
    module = sys.modules[run.__module__]
    facts = (tokens, hidden, hidden, experts, top_k, pad, zero, 0, experts)

    def by(plan: str) -> Job:
        return lambda: run(out, counts, offsets, slots, barrier, x, ids, *facts, dtype=name, plan=plan)

    def copied_by(threads: int, vectors: int) -> Job:
        """Two launches with other blocks in the second."""
        kinds = module.ELEMENTS[name]
        compiled = module.compile_dispatch(
            name, tokens, hidden, experts, top_k, pad, zero, plan="two launches", copy=(threads, vectors)
        )
        width = module.vector_width(kinds.width, hidden)
        rows = [module.device_pointer(t, kinds, width) for t in (out, x)]
        numbers = [module.device_pointer(t, module.Int32, 1) for t in (counts, offsets, slots, barrier, ids)]
        given = [tokens, hidden, 0, experts, module.device_facts()[0]]
        typed = [module.Int64(n) if k == 1 else module.Int32(n) for k, n in enumerate(given)]
        return lambda: compiled(
            *rows, *numbers, *typed, module.cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        )

    def composed() -> torch.Tensor:
        flat = ids.flatten().long()
        order = flat.argsort(stable=True)
        found = torch.zeros(experts, device=device, dtype=torch.long).index_add_(
            0, flat, torch.ones_like(flat)
        )
        padded = (found + pad - 1) // pad * pad
        first = padded.cumsum(0) - padded - (found.cumsum(0) - found)
        place = torch.arange(flat.numel(), device=device) + first[flat[order]]
        return out.index_copy_(0, place, x[order // top_k])

    jobs: dict[str, Job] = {"ours": by(""), "two launches": by("two launches"), "torch": composed}
    if tokens <= 132:
        jobs["barrier"] = by("barrier")
    if tokens <= MOST_FUSED:
        jobs["fused"] = by("fused")
    if tokens >= 1024:
        jobs |= {f"copy {t}x{v}": copied_by(t, v) for t, v in COPIES}
    moved = tokens * hidden * (1 + top_k) * kind.itemsize
    if zero:
        jobs.pop("torch")
        torch.cuda.synchronize()
        by("")()
        moved += (int(offsets[-1]) - tokens * top_k) * hidden * kind.itemsize
    return jobs, moved


def rows() -> Iterator[Row]:
    for name, tokens, hidden, experts, top_k, pad, zero in (
        ("bf16", 16384, 4096, 64, 8, 128, 0), ("bf16", 8192, 7168, 256, 8, 128, 0),
        ("bf16", 8192, 7168, 256, 8, 128, 1), ("bf16", 32768, 2048, 128, 8, 64, 0),
        ("f32", 8192, 4096, 8, 2, 128, 0), ("bf16", 16384, 6144, 8, 2, 1, 0),
    ):  # fmt: skip
        jobs, size = jobs_of(name, tokens, hidden, experts, top_k, pad, zero)
        what = f"dispatch {name} {tokens}x{hidden} {top_k} of {experts}"
        yield Row(what + (" zeroed" if zero else ""), size, jobs)
    for hidden, experts in ((7168, 256), (2048, 128)):
        for tokens in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096):
            jobs, size = jobs_of("bf16", tokens, hidden, experts, 8, 1)
            yield Row(f"switch bf16 {tokens}x{hidden} 8 of {experts}", size, jobs, decode=True)
