"""Softmax, cross-entropy, argmax and top-k of rows beside torch and beside other launch plans: see timing.py.

A job called `(lanes, …)` is the entry with that plan in place of its table's; `ours` has the table's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry

Plans = tuple[tuple[int, ...], ...]


def planned(name: str, plan: tuple[int, ...], facts: dict[str, Any], pointers: Any, numbers: Any) -> Job:
    """The entry with `plan`: `facts` are compile_<entry>'s; pointers (tensor, elements it is aligned to) and
    numbers are the launch's."""
    entry(name)
    module: Any = sys.modules[f"corpus_{name}"]
    kinds = {t: module.ELEMENTS[n] for n, t in TYPES.items()} | {torch.int64: module.Int64}
    run = getattr(module, f"compile_{name}")(**facts, plan=plan)
    held = [module.device_pointer(t, kinds[t.dtype], n) for t, n in pointers]
    given = [getattr(module, kind)(n) for kind, n in numbers]
    return lambda: run(*held, *given, module.cuda.CUstream(torch.cuda.current_stream().cuda_stream))


def softmax_jobs(name: str, rows: int, columns: int, plans: Plans = ()) -> tuple[dict[str, Job], int]:
    kind = TYPES[name]
    x = torch.randn(rows, columns, device="cuda").to(kind)
    out = torch.empty_like(x)
    run = entry("softmax")
    jobs: dict[str, Job] = {
        "ours": lambda: run(out, x, rows, columns, columns, columns, 0, dtype=name),
        "torch": lambda: torch.softmax(x, 1),
    }
    facts = {"dtype": name, "rows": rows, "columns": columns, "log": 0}
    numbers = (("Int32", rows), ("Int64", columns), ("Int64", columns))
    width = 16 // kind.itemsize
    for plan in plans:
        jobs[str(plan)] = planned("softmax", plan, facts, ((out, width), (x, width)), numbers)
    return jobs, 2 * rows * columns * kind.itemsize


def cross_entropy_jobs(name: str, rows: int, classes: int, plans: Plans = ()) -> tuple[dict[str, Job], int]:
    kind = TYPES[name]
    x = torch.randn(rows, classes, device="cuda").to(kind)
    target = torch.randint(0, classes, (rows,), device="cuda")
    loss, lse = (torch.empty(rows, device="cuda") for _ in range(2))
    run = entry("cross_entropy")
    jobs: dict[str, Job] = {
        "ours": lambda: run(
            loss, lse, x, target, 0.0, rows, classes, classes, -100, dtype=name, index_dtype="i64"
        ),
        "torch": lambda: torch.nn.functional.cross_entropy(x, target, reduction="none"),
    }
    facts = {"dtype": name, "index_dtype": "i64", "rows": rows, "classes": classes, "smoothing": 0.0}
    pointers = ((loss, 1), (lse, 1), (x, 16 // kind.itemsize), (target, 1))
    numbers = (("Int32", rows), ("Int64", classes), ("Int64", -100))
    for plan in plans:
        jobs[str(plan)] = planned("cross_entropy", plan, facts, pointers, numbers)
    return jobs, rows * classes * kind.itemsize


def argmax_jobs(name: str, rows: int, columns: int, plans: Plans = ()) -> tuple[dict[str, Job], int]:
    kind = TYPES[name]
    x = torch.randn(rows, columns, device="cuda").to(kind)
    index = torch.empty(rows, device="cuda", dtype=torch.int64)
    run = entry("argmax")
    jobs: dict[str, Job] = {
        "ours": lambda: run(index, x, rows, columns, columns, dtype=name, index_dtype="i64"),
        "torch": lambda: torch.argmax(x, 1),
    }
    facts = {"dtype": name, "index_dtype": "i64", "rows": rows, "columns": columns}
    pointers, numbers = ((index, 1), (x, 16 // kind.itemsize)), (("Int32", rows), ("Int64", columns))
    for plan in plans:
        jobs[str(plan)] = planned("argmax", plan, facts, pointers, numbers)
    return jobs, rows * columns * kind.itemsize


def top_k_jobs(name: str, rows: int, columns: int, k: int, plans: Plans = ()) -> tuple[dict[str, Job], int]:
    kind = TYPES[name]
    x = torch.randn(rows, columns, device="cuda").to(kind)
    values = torch.empty(rows, k, device="cuda", dtype=kind)
    indices = torch.empty(rows, k, device="cuda", dtype=torch.int64)
    run = entry("top_k")
    jobs: dict[str, Job] = {
        "ours": lambda: run(values, indices, x, rows, columns, k, columns, dtype=name, index_dtype="i64"),
        "torch": lambda: torch.topk(x, k, 1),
    }
    facts = {"dtype": name, "index_dtype": "i64", "k": k, "rows": rows, "columns": columns}
    pointers = ((values, 1), (indices, 1), (x, 16 // kind.itemsize))
    for plan in plans:
        jobs[str(plan)] = planned("top_k", plan, facts, pointers, (("Int32", rows), ("Int64", columns)))
    return jobs, rows * columns * kind.itemsize


SWEPT: Plans = ((256, 1, 1, 4), (512, 1, 1, 8), (1024, 1, 1, 4))


def large() -> Iterator[Row]:
    for name, count, columns, plans in (
        ("f32", 8192, 4096, ((512, 1, 1, 32), (128, 1, 1, 32))),
        ("f32", 65536, 768, ((32, 4, 1, 32), (64, 2, 1, 32))),
        ("bf16", 16384, 4096, ((128, 1, 1, 32), (512, 1, 1, 32))),
        ("bf16", 262144, 256, ((8, 16, 1, 32), (16, 8, 1, 32))),
        ("f32", 4096, 32768, ((1024, 1, 1, 32), (256, 1, 4, 32))),
        ("bf16", 2048, 131072, ((1024, 1, 4, 32), (1024, 1, 8, 16), (512, 1, 1, 32))),
        ("f32", 1024, 131072, ((1024, 1, 4, 32), (1024, 1, 8, 16))),
    ):  # fmt: skip
        jobs, size = softmax_jobs(name, count, columns, plans)
        if columns in (4096, 131072):
            jobs["torch.compile"] = torch.compile(jobs["torch"])
        yield Row(f"softmax {name} {count}x{columns}", size, jobs)
    for name, count, columns in (
        ("bf16", 4096, 128256), ("f32", 2048, 128256), ("bf16", 8192, 32000), ("f32", 65536, 1024),
    ):  # fmt: skip
        plans = SWEPT if columns > 1024 else ((32, 4, 1, 4), (64, 2, 1, 4))
        jobs, size = cross_entropy_jobs(name, count, columns, plans)
        if (name, columns) == ("bf16", 128256):
            jobs["torch.compile"] = torch.compile(jobs["torch"])
        yield Row(f"cross_entropy {name} {count}x{columns}", size, jobs)
        jobs, size = argmax_jobs(name, count, columns, plans)
        if (name, columns) == ("bf16", 128256):
            jobs["torch.compile"] = torch.compile(jobs["torch"])
        yield Row(f"argmax {name} {count}x{columns}", size, jobs)
    for name, count, columns, k in (
        ("bf16", 4096, 128256, 8), ("bf16", 4096, 128256, 32), ("f32", 8192, 32768, 8),
        ("bf16", 262144, 256, 8),
    ):  # fmt: skip
        plans = ((256, 1, 4), (512, 1, 8), (1024, 1, 4)) if columns > 256 else ((32, 1, 4), (32, 2, 4))
        jobs, size = top_k_jobs(name, count, columns, k, plans)
        yield Row(f"top_k {name} {count}x{columns} k {k}", size, jobs)


def rows() -> Iterator[Row]:
    yield from large()
    for count in (1, 8, 64):
        for columns in (4096, 128256):
            jobs, size = softmax_jobs("bf16", count, columns)
            yield Row(f"softmax bf16 {count}x{columns}", size, jobs, decode=True)
        for which, (jobs, size) in (
            ("cross_entropy", cross_entropy_jobs("bf16", count, 128256)),
            ("argmax", argmax_jobs("bf16", count, 128256)),
            ("top_k k 8", top_k_jobs("bf16", count, 128256, 8)),
        ):
            yield Row(f"{which} bf16 {count}x128256", size, jobs, decode=True)
    jobs, size = top_k_jobs("bf16", 64, 256, 8)
    yield Row("top_k k 8 bf16 64x256", size, jobs, decode=True)
