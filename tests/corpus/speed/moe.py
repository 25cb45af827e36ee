"""Mixture of experts beside torch: see timing.py. Choices are spread evenly over the experts, at random."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry


def planned(name: str, **plan: Any) -> Any:
    """The entry, with `plan` for compile_<entry>, which it would not choose itself."""
    run, told = entry(name), f"compile_{name}"
    known = {**run.__globals__, told: partial(run.__globals__[told], **plan)}
    made = FunctionType(run.__code__, known, run.__name__)
    made.__kwdefaults__ = run.__kwdefaults__
    return made


def gating_jobs(name: str, tokens: int, experts: int, top_k: int) -> tuple[dict[str, Job], int]:
    logits = torch.randn(tokens, experts, device="cuda").to(TYPES[name])
    ids = torch.empty(tokens, top_k, device="cuda", dtype=torch.int32)
    weights = torch.empty(tokens, top_k, device="cuda")
    run = entry("topk_gating")

    def composed() -> Any:
        share, chosen = torch.softmax(logits, -1, dtype=torch.float32).topk(top_k, -1)
        return share / share.sum(-1, keepdim=True), chosen

    jobs: dict[str, Job] = {
        "ours": lambda: run(ids, weights, logits, tokens, experts, top_k, experts, 1, dtype=name),
        "not renormalised": lambda: run(ids, weights, logits, tokens, experts, top_k, experts, 0, dtype=name),
        "torch": composed,
    }
    if tokens == 16384:
        jobs["torch.compile"] = torch.compile(composed)
    return jobs, tokens * (experts * TYPES[name].itemsize + 8 * top_k)


def grouped_jobs(name: str, tokens: int) -> tuple[dict[str, Job], int]:
    """The shape of DeepSeek-V3: 256 experts in 8 groups, 8 experts in 4 of them."""
    experts, groups, kept, top_k = 256, 8, 4, 8
    logits = torch.randn(tokens, experts, device="cuda").to(TYPES[name])
    bias = torch.rand(experts, device="cuda") - 0.5
    ids = torch.empty(tokens, top_k, device="cuda", dtype=torch.int32)
    weights = torch.empty(tokens, top_k, device="cuda")
    run = entry("grouped_topk_gating")
    sizes = (tokens, experts, groups, kept, top_k, experts, 1)

    def composed() -> Any:
        scores = torch.sigmoid(logits.float())
        choice = (scores + bias).view(tokens, groups, -1)
        best = choice.topk(2, -1).values.sum(-1).topk(kept, -1).indices
        dropped = torch.ones(tokens, groups, 1, device="cuda", dtype=torch.bool)
        dropped.scatter_(1, best[..., None], False)
        chosen = choice.masked_fill(dropped, -torch.inf).view(tokens, -1).topk(top_k, -1).indices
        share = scores.gather(1, chosen)
        return share / share.sum(-1, keepdim=True) * 2.5, chosen

    jobs: dict[str, Job] = {
        "ours": lambda: run(ids, weights, logits, bias, 2.5, *sizes, dtype=name),
        "torch": composed,
    }
    if tokens == 16384:
        jobs["torch.compile"] = torch.compile(composed)
    return jobs, tokens * (experts * TYPES[name].itemsize + 8 * top_k)


def routing_jobs(tokens: int, top_k: int, experts: int, pad: int) -> tuple[dict[str, Job], int]:
    ids = torch.rand(tokens, experts, device="cuda").topk(top_k, -1).indices.to(torch.int32)
    counts = torch.empty(experts, device="cuda", dtype=torch.int32)
    offsets = torch.empty(experts + 1, device="cuda", dtype=torch.int32)
    slots = torch.empty_like(ids)
    run, flat = entry("expert_routing"), ids.view(-1)
    arguments = (counts, offsets, slots, ids, tokens, top_k, experts, pad, 0, experts)

    def composed() -> Any:
        """Counts without bincount, which asks the GPU for the largest id and can't be in a graph."""
        order = torch.argsort(flat, stable=True)
        found = torch.zeros(experts, device="cuda", dtype=torch.int64)
        found.scatter_add_(0, flat.long(), torch.ones_like(flat, dtype=torch.int64))
        padded = (found + pad - 1) // pad * pad
        begins, rows = torch.cumsum(padded, 0) - padded, torch.cumsum(found, 0) - found
        chosen = flat[order].long()
        place = torch.empty_like(order)
        place[order] = begins[chosen] + torch.arange(len(flat), device="cuda") - rows[chosen]
        return found, begins, place

    jobs: dict[str, Job] = {
        "ours": lambda: run(*arguments),
        "torch": composed,
    }
    if tokens * top_k > 1024:
        for plan in ((8, 1), (8, 2), (8, 4), (8, 8), (4, 4)):
            jobs[f"blocks, ids {plan}"] = partial(planned("expert_routing", plan=plan), *arguments)
    if tokens == 16384:
        jobs["torch.compile"] = torch.compile(composed)
    return jobs, 8 * (tokens * top_k + experts)


def combine_jobs(
    name: str, tokens: int, top_k: int, hidden: int, share: int = 1
) -> tuple[dict[str, Job], int]:
    """One of `share` choices is of an expert on this GPU."""
    kind, choices = TYPES[name], tokens * top_k
    y = torch.randn(choices, hidden, device="cuda").to(kind)
    slots = torch.randperm(choices, device="cuda", dtype=torch.int32).view(tokens, top_k)
    slots = torch.where(slots % share == 0, slots, -1)
    weights = torch.rand(tokens, top_k, device="cuda")
    out = torch.empty(tokens, hidden, device="cuda", dtype=kind)
    run, rows = entry("combine"), int((slots >= 0).sum())
    arguments = (out, y, slots, weights, out, tokens, top_k, hidden, hidden, hidden, 0)

    def composed() -> Any:
        taken = y.index_select(0, slots.view(-1).clamp(min=0)).view(tokens, top_k, hidden)
        kept = torch.where(slots >= 0, weights, 0.0)
        return (taken * kept[..., None]).sum(1).to(kind)

    jobs: dict[str, Job] = {"ours": lambda: run(*arguments, dtype=name), "torch": composed}
    if tokens >= 4096:
        for plan in ((128, 1, top_k), (64, 2, top_k), (64, 2, 1), (32, 4, 1), (32, 4, 2)):
            jobs[f"plan {plan}"] = partial(planned("combine", plan=plan), *arguments, dtype=name)
    if tokens == 4096 and share == 1:
        jobs["torch.compile"] = torch.compile(composed)
    return jobs, (rows + tokens) * hidden * kind.itemsize + 8 * choices


def rows() -> Iterator[Row]:
    for name, tokens, experts, top_k in (
        ("bf16", 16384, 256, 8), ("f32", 16384, 256, 8), ("bf16", 65536, 64, 6), ("bf16", 65536, 8, 2),
    ):  # fmt: skip
        jobs, size = gating_jobs(name, tokens, experts, top_k)
        yield Row(f"topk_gating {name} {tokens}x{experts} top {top_k}", size, jobs)
    for name in ("bf16", "f32"):
        jobs, size = grouped_jobs(name, 16384)
        yield Row(f"grouped_topk_gating {name} 16384x256 top 8", size, jobs)
    for tokens, top_k, experts in ((2048, 8, 256), (16384, 8, 256), (16384, 8, 64), (32768, 8, 128)):
        jobs, size = routing_jobs(tokens, top_k, experts, 128)
        yield Row(f"expert_routing {tokens}x{top_k} of {experts}", size, jobs)
    for name, tokens, top_k, hidden, share in (
        ("bf16", 4096, 8, 4096, 1), ("bf16", 4096, 8, 7168, 1), ("bf16", 16384, 2, 4096, 1),
        ("f32", 4096, 4, 2048, 1), ("bf16", 16384, 8, 7168, 8),
    ):  # fmt: skip
        jobs, size = combine_jobs(name, tokens, top_k, hidden, share)
        yield Row(f"combine {name} {tokens}x{top_k} of {hidden}, 1 in {share}", size, jobs)
    for tokens in (1, 8, 64):
        jobs, size = gating_jobs("bf16", tokens, 256, 8)
        yield Row(f"topk_gating bf16 {tokens}x256 top 8", size, jobs, decode=True)
        jobs, size = grouped_jobs("f32", tokens)
        yield Row(f"grouped_topk_gating f32 {tokens}x256 top 8", size, jobs, decode=True)
        jobs, size = routing_jobs(tokens, 8, 256, 64)
        yield Row(f"expert_routing {tokens}x8 of 256", size, jobs, decode=True)
        jobs, size = combine_jobs("bf16", tokens, 8, 4096)
        yield Row(f"combine bf16 {tokens}x8 of 4096", size, jobs, decode=True)
