"""8-bit quantisation beside torch: see timing.py. Jobs called `plan …` try other launch plans."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import cuda.bindings.driver as cuda
import torch
from cutlass import Float32, Int32, Int64

from tests.corpus.speed.timing import TYPES, Job, Row, entry

LEAST = 1e-4
CODES = {"e4m3": (torch.float8_e4m3fn, 448.0), "int8": (torch.int8, 127.0)}
Torch = Callable[[], Any]


def planned(
    name: str, tensors: list[tuple[torch.Tensor, Any, int]], numbers: list[Any], *facts: Any, **plan: Any
) -> Job:
    """The entry's kernel with another plan: its `compile_` function is called with `facts` and `plan`.
    `tensors` are (tensor, element type of the DSL, width), `numbers` what is passed after their pointers."""
    entry(name)
    module = sys.modules[f"corpus_{name}"]
    run = getattr(module, f"compile_{name}")(*facts, device=module.device_facts(), **plan)
    pointers = [module.device_pointer(*t) for t in tensors]
    return lambda: run(*pointers, *numbers, cuda.CUstream(torch.cuda.current_stream().cuda_stream))


def rounded(x: torch.Tensor, kind: str) -> torch.Tensor:
    return x.round().to(torch.int8) if kind == "int8" else x.to(torch.float8_e4m3fn)


def elements(name: str) -> tuple[Any, int]:
    """The DSL's type of a name and the width of 128 bits of it."""
    entry("quantize_rows")
    kind = sys.modules["corpus_quantize_rows"].ELEMENTS[name]
    return kind, 128 // kind.width


def codes(kind: str) -> Any:
    entry("quantize_rows")
    return sys.modules["corpus_quantize_rows"].CODES[kind][0]


def matrix(name: str, kind: str, rows: int, hidden: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(rows, hidden, device="cuda").to(TYPES[name])
    return x, torch.empty(rows, hidden, device="cuda", dtype=CODES[kind][0])


def rows_jobs(
    name: str, kind: str, rows: int, hidden: int, plans: tuple[tuple[int, int], ...]
) -> dict[str, Job]:
    x, q = matrix(name, kind, rows, hidden)
    scale, run, largest = torch.empty(rows, device="cuda"), entry("quantize_rows"), CODES[kind][1]

    def by_torch() -> Any:
        most = x.abs().amax(1, keepdim=True).float().clamp(min=LEAST)
        return rounded(x.float() * (largest / most), kind), most / largest

    element, width = elements(name)
    tensors = [(q, codes(kind), width), (scale, Float32, 1), (x, element, width)]
    numbers = [Int32(rows), Int64(hidden), Int64(hidden)]
    return {
        "ours": lambda: run(q, scale, x, LEAST, rows, hidden, hidden, hidden, dtype=name, kind=kind),
        "torch": by_torch,
        **{
            f"plan {lanes}x{block}": planned(
                "quantize_rows", tensors, numbers, name, kind, rows, hidden, LEAST, width, plan=(lanes, block)
            )
            for lanes, block in plans
        },
    }


def groups_jobs(
    name: str, kind: str, rows: int, hidden: int, column: bool, plans: tuple[int, ...]
) -> dict[str, Job]:
    x, q = matrix(name, kind, rows, hidden)
    run, largest, groups = entry("quantize_groups"), CODES[kind][1], hidden // 128
    by_row, by_group = (1, -(-rows // 4) * 4) if column else (groups, 1)
    scale = torch.empty(groups * -(-rows // 4) * 4, device="cuda")

    def by_torch() -> Any:
        g = x.view(rows, groups, 128)
        most = g.abs().amax(2, keepdim=True).float().clamp(min=LEAST)
        scales = (most / largest).view(rows, groups)
        return rounded(g.float() * (largest / most), kind), scales.t().contiguous() if column else scales

    element, width = elements(name)
    tensors = [(q, codes(kind), width), (scale, Float32, 1), (x, element, width)]
    numbers = [Int32(rows), Int64(hidden), Int64(hidden), Int64(by_row), Int64(by_group)]
    return {
        "ours": lambda: run(
            q, scale, x, LEAST, rows, hidden, 128, hidden, hidden, by_row, by_group, dtype=name, kind=kind
        ),
        "torch": by_torch,
        **{
            f"plan {n}": planned(
                "quantize_groups", tensors, numbers, name, kind, rows, hidden, 128, LEAST, width, vectors=n
            )
            for n in plans
        },
    }


def blocks_jobs(name: str, rows: int, columns: int, plans: tuple[int, ...]) -> dict[str, Job]:
    x, q = matrix(name, "e4m3", rows, columns)
    run, down, across = entry("quantize_blocks"), rows // 128, columns // 128
    scale = torch.empty(down, across, device="cuda")

    def by_torch() -> Any:
        b = x.view(down, 128, across, 128)
        most = b.abs().amax((1, 3), keepdim=True).float().clamp(min=LEAST)
        return (b.float() * (448.0 / most)).to(torch.float8_e4m3fn), most / 448.0

    element, width = elements(name)
    tensors = [(q, codes("e4m3"), width), (scale, Float32, 1), (x, element, width)]
    numbers = [Int64(columns), Int64(columns)]
    return {
        "ours": lambda: run(
            q, scale, x, LEAST, rows, columns, 128, columns, columns, dtype=name, kind="e4m3"
        ),
        "torch": by_torch,
        **{
            f"plan {n} threads": planned(
                "quantize_blocks", tensors, numbers, name, "e4m3", rows, columns, 128, LEAST, width, threads=n
            )
            for n in plans
        },
    }


def tensor_jobs(which: str, name: str, kind: str, count: int, plans: tuple[int, ...] = ()) -> dict[str, Job]:
    """`static`: with a given scale; `scale`: the scale alone; `dynamic`: both, the scale set to 0 before."""
    x, q = (t.view(-1) for t in matrix(name, kind, 1, count))
    scale, most = torch.full((1,), 0.01, device="cuda"), CODES[kind][1]
    find, run = entry("tensor_scale"), entry("quantize_tensor")

    def dynamic() -> None:
        scale.zero_()
        find(scale, x, count, dtype=name, kind=kind)
        run(q, scale, x, count, dtype=name, kind=kind)

    def with_scale(s: torch.Tensor) -> torch.Tensor:
        return rounded((x.float() * s.reciprocal()).clamp(-most, most), kind)

    element, width = elements(name)
    tensors = [(q, codes(kind), width), (scale, Float32, 1), (x, element, width)]
    ours: dict[str, Job] = {
        "static": lambda: run(q, scale, x, count, dtype=name, kind=kind),
        "scale": lambda: find(scale, x, count, dtype=name, kind=kind),
        "dynamic": dynamic,
    }
    by_torch: dict[str, Job] = {
        "static": lambda: with_scale(scale),
        "scale": lambda: x.abs().amax().float() / most,
        "dynamic": lambda: with_scale(x.abs().amax().float() / most),
    }
    return {
        "ours": ours[which],
        "torch": by_torch[which],
        **{
            f"plan {n}": planned(
                "quantize_tensor", tensors, [Int32(count // width)], name, kind, count, width, each=n
            )
            for n in plans
        },
    }


def back_jobs(
    name: str, rows: int, hidden: int, tile: tuple[int, int], plans: tuple[tuple[int, int], ...]
) -> dict[str, Job]:
    q = torch.randn(rows, hidden, device="cuda").to(torch.float8_e4m3fn)
    down, across = -(-rows // tile[0]), hidden // tile[1]
    scale = torch.rand(down, across, device="cuda")
    out, run = torch.empty(rows, hidden, device="cuda", dtype=TYPES[name]), entry("dequantize")

    def by_torch() -> Any:
        tiles = q.view(down, rows // down, across, tile[1]).float() * scale[:, None, :, None]
        return tiles.to(TYPES[name])

    element, width = elements(name)
    tensors = [(out, element, width), (q, codes("e4m3"), width), (scale, Float32, 1)]
    numbers = [Int32(rows), Int64(hidden), Int64(hidden), Int64(across), Int64(1)]
    return {
        "ours": lambda: run(
            out, q, scale, rows, hidden, *tile, hidden, hidden, across, 1, dtype=name, kind="e4m3"
        ),
        "torch": by_torch,
        **{
            f"plan {lanes}x{block}": planned(
                "dequantize", tensors, numbers, name, "e4m3", rows, hidden, *tile, width, plan=(lanes, block)
            )
            for lanes, block in plans
        },
    }


def compiled(jobs: dict[str, Job], wanted: bool) -> dict[str, Job]:
    return {**jobs, "torch.compile": torch.compile(jobs["torch"])} if wanted else jobs


def rows() -> Iterator[Row]:
    for name, kind, count, hidden in (
        ("bf16", "e4m3", 16384, 7168), ("bf16", "int8", 16384, 7168), ("bf16", "e4m3", 16384, 4096),
        ("bf16", "e4m3", 65536, 1024), ("f32", "e4m3", 16384, 4096), ("bf16", "e4m3", 131072, 256),
    ):  # fmt: skip
        size, first = count * hidden * (TYPES[name].itemsize + 1), (kind, hidden) == ("e4m3", 7168)
        plans = ((128, 1), (224, 1), (448, 1), (512, 1)) if hidden == 7168 else ()
        jobs = rows_jobs(name, kind, count, hidden, plans)
        yield Row(f"quantize_rows {kind} {name} {count}x{hidden}", size, compiled(jobs, first))
        for column in (False, True):
            jobs = groups_jobs(name, kind, count, hidden, column, (1, 4) if hidden == 7168 else ())
            what = f"quantize_groups {kind} {name} {count}x{hidden}" + " by column" * column
            yield Row(what, size + count * hidden // 32, compiled(jobs, first and not column))
        yield Row(
            f"quantize_tensor {kind} {name} {count}x{hidden}",
            size,
            compiled(tensor_jobs("static", name, kind, count * hidden, (1, 2, 8)), first),
        )
        if kind == "e4m3":
            jobs = back_jobs(name, count, hidden, (1, hidden), plans)
            yield Row(f"dequantize {name} {count}x{hidden} by row", size, compiled(jobs, first))
    for tile in ((1, 128), (128, 128)):
        jobs = back_jobs("bf16", 16384, 7168, tile, ((224, 1), (448, 1)))
        yield Row(f"dequantize bf16 16384x7168 {tile[0]}x{tile[1]}", 16384 * 7168 * 3, jobs)
    for name, count, hidden in (("bf16", 7168, 18432), ("bf16", 7168, 2048), ("f32", 4096, 4096)):
        size = count * hidden * (TYPES[name].itemsize + 1)
        jobs = blocks_jobs(name, count, hidden, (256, 1024))
        yield Row(f"quantize_blocks {name} {count}x{hidden}", size, compiled(jobs, hidden == 18432))
    for name, count in (("bf16", 16384 * 7168), ("bf16", 2048 * 7168), ("f32", 16384 * 4096)):
        width = TYPES[name].itemsize
        jobs = tensor_jobs("scale", name, "e4m3", count)
        yield Row(f"tensor_scale {name} {count}", count * width, compiled(jobs, count == 16384 * 7168))
        jobs = tensor_jobs("dynamic", name, "e4m3", count)
        what = f"tensor_scale + quantize_tensor {name} {count}"
        yield Row(what, count * (2 * width + 1), compiled(jobs, count == 16384 * 7168))
    for tokens in (1, 8, 64):
        size, hidden = tokens * 7168 * 3, 7168
        plans = ((224, 1), (448, 1), (896, 1))
        for what, jobs in (
            ("quantize_rows", rows_jobs("bf16", "e4m3", tokens, hidden, plans)),
            ("quantize_groups", groups_jobs("bf16", "e4m3", tokens, hidden, True, (2, 4))),
            ("quantize_tensor", tensor_jobs("static", "bf16", "e4m3", tokens * hidden, (2, 4))),
            ("tensor_scale", tensor_jobs("scale", "bf16", "e4m3", tokens * hidden)),
            ("dequantize", back_jobs("bf16", tokens, hidden, (1, 128), plans)),
        ):
            yield Row(f"{what} bf16 {tokens}x{hidden}", size, jobs, decode=True)
