"""Norms beside torch: see timing.py."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry


def qk_jobs(name: str, tokens: int, q_heads: int, k_heads: int, head: int) -> tuple[dict[str, Job], int]:
    """The ways to norm heads of a fused qkv tensor, and the bytes that must move. The general kernels get as
    many heads in one tensor without gaps, which is the better case for them."""
    kind, heads = TYPES[name], q_heads + k_heads
    qkv = torch.randn(tokens, heads + k_heads, head, device="cuda").to(kind)
    q, k = qkv[:, :q_heads], qkv[:, q_heads:heads]
    flat = torch.randn(tokens * heads, head, device="cuda").to(kind)
    out = torch.empty_like(flat)
    w = torch.ones(head, device="cuda", dtype=kind)
    run, rms = entry("qk_norm"), entry("rms_norm")
    stride = qkv.stride(0)
    return {
        "ours": lambda: run(
            q, k, w, w, 1e-6, 0.0, tokens, q_heads, k_heads, head, stride, stride, dtype=name
        ),
        "corpus rms_norm": lambda: rms(out, flat, w, 1e-6, 0.0, tokens * heads, head, head, head, dtype=name),
        "torch": lambda: torch.nn.functional.rms_norm(flat, (head,), w, 1e-6),
    }, 2 * tokens * heads * head * kind.itemsize


def row_jobs(name: str, which: str, rows: int, hidden: int) -> tuple[dict[str, Job], int]:
    kind = TYPES[name]
    x, residual = (torch.randn(rows, hidden, device="cuda").to(kind) for _ in range(2))
    out = torch.empty_like(x)
    w, b = (torch.ones(hidden, device="cuda", dtype=kind) for _ in range(2))
    run = entry(which)
    f = torch.nn.functional
    jobs: dict[str, Job]
    if which == "rms_norm":
        jobs = {
            "ours": lambda: run(out, x, w, 1e-6, 0.0, rows, hidden, hidden, hidden, dtype=name),
            "torch": lambda: f.rms_norm(x, (hidden,), w, 1e-6),
        }
    elif which == "add_rms_norm":
        jobs = {
            "ours": lambda: run(out, x, residual, w, 1e-6, 0.0, rows, hidden, hidden, hidden, dtype=name),
            "torch": lambda: f.rms_norm(residual.add_(x), (hidden,), w, 1e-6),
        }
    elif which == "add_layer_norm":
        jobs = {
            "ours": lambda: run(out, x, residual, w, b, 1e-5, rows, hidden, hidden, hidden, dtype=name),
            "torch": lambda: f.layer_norm(residual.add_(x), (hidden,), w, b, 1e-5),
        }
    else:
        jobs = {
            "ours": lambda: run(out, x, w, b, 1e-5, rows, hidden, hidden, hidden, dtype=name),
            "torch": lambda: f.layer_norm(x, (hidden,), w, b, 1e-5),
        }
    return jobs, (4 if which.startswith("add") else 2) * rows * hidden * kind.itemsize


def rows() -> Iterator[Row]:
    for name, tokens, qh, kh, head in (
        ("bf16", 16384, 24, 8, 128), ("bf16", 16384, 32, 8, 128), ("f32", 16384, 32, 8, 128),
        ("bf16", 16384, 32, 8, 64), ("bf16", 16384, 16, 8, 256), ("f16", 4096, 32, 8, 128),
    ):  # fmt: skip
        jobs, size = qk_jobs(name, tokens, qh, kh, head)
        yield Row(f"qk_norm {name} {tokens}x({qh}+{kh})x{head}", size, jobs)
    for which in ("rms_norm", "add_rms_norm", "layer_norm", "add_layer_norm"):
        for name, count, hidden in (
            ("bf16", 65536, 1024), ("bf16", 16384, 4096), ("bf16", 16384, 7168), ("bf16", 8192, 16384),
            ("f32", 16384, 4096), ("bf16", 131072, 256),
        ):  # fmt: skip
            jobs, size = row_jobs(name, which, count, hidden)
            if (name, hidden) == ("bf16", 4096):
                jobs["torch.compile"] = torch.compile(jobs["torch"])
            yield Row(f"{which} {name} {count}x{hidden}", size, jobs)
    for tokens in (1, 8, 64):
        jobs, size = qk_jobs("bf16", tokens, 32, 8, 128)
        yield Row(f"qk_norm bf16 {tokens}x(32+8)x128", size, jobs, decode=True)
        for which in ("rms_norm", "add_rms_norm", "layer_norm", "add_layer_norm"):
            jobs, size = row_jobs("bf16", which, tokens, 4096)
            yield Row(f"{which} bf16 {tokens}x4096", size, jobs, decode=True)
