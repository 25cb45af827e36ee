"""Times the corpus's norms on a GPU: `python3 -P -m tests.corpus.speed [FILE]`. Needs torch and the DSL only.

Large shapes: CUDA events around one launch, after a 512 MB fill that empties the L2 cache and keeps the host
ahead; medians. Decode shapes: a graph of 64 launches, its time divided by 64, beside 64 nearly empty kernels.
All is measured in one process, turn by turn: only such times compare. FILE gets the numbers as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

KERNELS = Path(__file__).resolve().parents[2] / "corpus/kernels/norm"
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
ROUNDS, GRAPH = 25, 64
Job = Callable[[], Any]


def entry(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", KERNELS / name / "kernel.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def large(jobs: dict[str, Job]) -> dict[str, float]:
    """Median µs of each, in turns."""
    flush = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
    times: dict[str, list[float]] = {n: [] for n in jobs}
    for job in jobs.values():
        job()
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            flush.zero_()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            job()
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end) * 1e3)
    return {n: statistics.median(t) for n, t in times.items()}


def small(jobs: dict[str, Job]) -> dict[str, float]:
    """Median µs of one launch in a graph of many, in turns."""
    graphs: dict[str, torch.cuda.CUDAGraph] = {}
    for name, job in jobs.items():
        job()
        torch.cuda.synchronize()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for _ in range(GRAPH):
                job()
    times: dict[str, list[float]] = {n: [] for n in jobs}
    for _ in range(ROUNDS):
        for name, graph in graphs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end) * 1e3 / GRAPH)
    return {n: statistics.median(t) for n, t in times.items()}


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


def copy_rate() -> float:
    """GB/s of torch's copy of 1 GiB, reading and writing counted."""
    source = torch.randn(1 << 28, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() * 4 / large({"copy": lambda: target.copy_(source)})["copy"] / 1e3


def main() -> None:
    rows: list[dict[str, Any]] = []

    def told(what: str, times: dict[str, float], size: int, copy: float) -> None:
        rate = {n: size / t / 1e3 for n, t in times.items()}  # GB/s
        rows.append({"what": what, "us": times, "gb_per_s": rate, "copy_gb_per_s": copy})
        shown = "  ".join(f"{n} {t:8.2f} us {rate[n]:6.0f} GB/s" for n, t in times.items())
        share = f" {100 * rate['ours'] / copy:3.0f} % of copy" if copy else ""
        print(f"{what:38} {shown} {share}", flush=True)

    copy = copy_rate()
    print(f"{torch.cuda.get_device_name()}: copy {copy:.0f} GB/s", flush=True)

    for name, tokens, qh, kh, head in (
        ("bf16", 16384, 24, 8, 128), ("bf16", 16384, 32, 8, 128), ("f32", 16384, 32, 8, 128),
        ("bf16", 16384, 32, 8, 64), ("bf16", 16384, 16, 8, 256), ("f16", 4096, 32, 8, 128),
    ):  # fmt: skip
        jobs, size = qk_jobs(name, tokens, qh, kh, head)
        told(f"qk_norm {name} {tokens}x({qh}+{kh})x{head}", large(jobs), size, copy)
    for which in ("rms_norm", "add_rms_norm", "layer_norm", "add_layer_norm"):
        for name, count, hidden in (
            ("bf16", 65536, 1024), ("bf16", 16384, 4096), ("bf16", 16384, 7168), ("bf16", 8192, 16384),
            ("f32", 16384, 4096), ("bf16", 131072, 256),
        ):  # fmt: skip
            jobs, size = row_jobs(name, which, count, hidden)
            told(f"{which} {name} {count}x{hidden}", large(jobs), size, copy)
    one = torch.zeros(1, device="cuda")
    for tokens in (1, 8, 64):
        jobs, size = qk_jobs("bf16", tokens, 32, 8, 128)
        times = small({**jobs, "nearly empty": lambda: one.zero_()})
        told(f"decode qk_norm bf16 {tokens}x(32+8)x128", times, size, 0.0)
        for which in ("rms_norm", "add_rms_norm", "layer_norm", "add_layer_norm"):
            jobs, size = row_jobs("bf16", which, tokens, 4096)
            told(f"decode {which} bf16 {tokens}x4096", small(jobs), size, 0.0)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
