"""Activations beside torch, with other launch plans and kinds of arithmetic: see timing.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from tests.corpus.speed.timing import TYPES, Job, Row, entry

SILU, GELU, GELU_TANH = 3, 1, 2
F = torch.nn.functional
TORCH = {SILU: F.silu, GELU: F.gelu, GELU_TANH: lambda x: F.gelu(x, approximate="tanh")}
NAMES = {SILU: "silu", GELU: "gelu", GELU_TANH: "gelu_tanh"}
# (lanes, rows a thread, groups) in place of what row_chunks chooses; lanes are rounded by nobody.
PLANS = {
    f"{lanes}x{each}": (lanes, each, 1)
    for lanes, each in ((128, 1), (256, 1), (256, 2), (256, 4), (512, 1), (512, 2))
}


def planned(name: str, facts: dict[str, Any], tensors: list[torch.Tensor], numbers: list[int]) -> Job:
    """A launch of the entry's compiled kernel with other facts than the entry chooses; no strides but full
    rows, so that the widest accesses are right. `numbers` are rows and strides."""
    module = sys.modules[entry(name).__module__]
    kind = module.ELEMENTS[facts["dtype"]]
    run = getattr(module, f"compile_{name}")(**facts, device=module.device_facts())
    width = 128 // kind.width
    halves = [width // 2 if facts.get("interleaved") and k == 0 else width for k in range(len(tensors))]
    pointers = [module.device_pointer(t, kind, w) for t, w in zip(tensors, halves, strict=True)]
    rows, *strides = numbers
    arguments = [*pointers, module.Int32(rows), *(module.Int64(s) for s in strides)]
    return lambda: run(*arguments, module.cuda.CUstream(torch.cuda.current_stream().cuda_stream))


def gated(
    dtype: str, rows: int, inter: int, act: int, interleaved: bool, more: bool = False
) -> tuple[dict[str, Job], int]:
    x = torch.randn(rows, 2 * inter, device="cuda").to(TYPES[dtype])
    out = torch.empty(rows, inter, device="cuda", dtype=x.dtype)
    run = entry("gated_activation")

    def by_torch(x: torch.Tensor) -> torch.Tensor:
        gate, up = (x[:, 0::2], x[:, 1::2]) if interleaved else x.chunk(2, dim=1)
        return TORCH[act](gate) * up

    def ours(packed: bool) -> Job:
        numbers = (rows, inter, 2 * inter, inter)
        return lambda: run(out, x, act, interleaved, *numbers, dtype=dtype, packed=packed)

    jobs: dict[str, Job] = {"ours": ours(False), "torch": lambda: by_torch(x)}
    if more:
        compiled = torch.compile(by_torch)
        jobs["torch.compile"] = lambda: compiled(x)
        facts = {"dtype": dtype, "activation": act, "interleaved": interleaved, "rows": rows, "inter": inter}
        for name, plan in PLANS.items():
            jobs[name] = planned(
                "gated_activation", {**facts, "plan": plan}, [out, x], [rows, 2 * inter, inter]
            )
        other = {**facts, "exact": dtype != "f32"}
        jobs["fast" if dtype == "f32" else "exact"] = planned(
            "gated_activation", other, [out, x], [rows, 2 * inter, inter]
        )
        if dtype == "bf16":
            jobs["packed"] = ours(True)
    return jobs, 3 * rows * inter * x.element_size()


def finished(dtype: str, rows: int, columns: int, act: int, more: bool = False) -> tuple[dict[str, Job], int]:
    x, residual = (torch.randn(rows, columns, device="cuda").to(TYPES[dtype]) for _ in range(2))
    bias, out = torch.randn(columns, device="cuda").to(x.dtype), torch.empty_like(x)
    run = entry("bias_activation_residual")

    def by_torch(x: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return TORCH[act](x + bias) + residual

    numbers = (rows, columns, columns, columns, columns)
    jobs: dict[str, Job] = {
        "ours": lambda: run(out, x, bias, residual, act, *numbers, dtype=dtype),
        "torch": lambda: by_torch(x, bias, residual),
    }
    if more:
        compiled = torch.compile(by_torch)
        jobs["torch.compile"] = lambda: compiled(x, bias, residual)
        facts = {"dtype": dtype, "activation": act, "rows": rows, "columns": columns}
        tensors, counts = [out, x, bias, residual], [rows, columns, columns, columns]
        for name, plan in PLANS.items():
            jobs[name] = planned("bias_activation_residual", {**facts, "plan": plan}, tensors, counts)
        jobs["exact"] = planned("bias_activation_residual", {**facts, "exact": True}, tensors, counts)
    return jobs, 3 * rows * columns * x.element_size()


def rows() -> Iterator[Row]:
    for dtype, count, inter, act, interleaved, more in (
        ("bf16", 16384, 4864, SILU, False, True), ("bf16", 16384, 18944, SILU, False, True),
        ("bf16", 16384, 11008, SILU, True, True), ("bf16", 16384, 14336, GELU, False, True),
        ("bf16", 16384, 14336, GELU_TANH, False, False), ("f16", 16384, 14336, SILU, False, False),
        ("f32", 16384, 11008, SILU, False, True), ("f32", 16384, 11008, GELU, False, False),
        ("bf16", 131072, 768, SILU, False, True),
    ):  # fmt: skip
        jobs, size = gated(dtype, count, inter, act, interleaved, more)
        layout = "pairs" if interleaved else "halves"
        yield Row(f"gated_activation {NAMES[act]} {layout} {dtype} {count}x{inter}", size, jobs)
    for dtype, count, columns, act, more in (
        ("bf16", 16384, 4096, GELU_TANH, True), ("bf16", 16384, 16384, GELU, True),
        ("f32", 16384, 4096, GELU_TANH, False), ("bf16", 65536, 1024, SILU, False),
    ):  # fmt: skip
        jobs, size = finished(dtype, count, columns, act, more)
        yield Row(f"bias_activation_residual {NAMES[act]} {dtype} {count}x{columns}", size, jobs)
    for count in (1, 8, 64):
        for inter, interleaved in ((4864, False), (18944, False), (11008, True)):
            jobs, size = gated("bf16", count, inter, SILU, interleaved)
            layout = "pairs" if interleaved else "halves"
            yield Row(f"gated_activation silu {layout} bf16 {count}x{inter}", size, jobs, decode=True)
        jobs, size = finished("bf16", count, 4096, GELU_TANH)
        yield Row(f"bias_activation_residual gelu_tanh bf16 {count}x4096", size, jobs, decode=True)
