"""Kernels around multimem, compiled only; `python -m tests.corpus.block_kernels_multimem` tells their PTX."""

from __future__ import annotations

import json
import re
from typing import Any

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float16, Float32, Float64, Int32, Int64, Uint32, Uint64
from cutlass.cute.runtime import make_ptr

from corpus.blocks.multimem import (
    multimem_code,
    multimem_load,
    multimem_reduce,
    multimem_store,
    multimem_type,
)

KINDS = {
    "f32": Float32, "f16": Float16, "bf16": BFloat16,
    "i32": Int32, "u32": Uint32, "i64": Int64, "u64": Uint64,
}  # fmt: skip
OPERATIONS = ("add", "max", "min", "and", "or", "xor")
COUNTS = {"f32": (1, 2, 4), "f16": (1, 2, 4), "bf16": (1, 2, 4)}
SCOPES = ("cta", "cluster", "gpu", "sys")


@cute.kernel
def load_kernel(mX: cute.Tensor, mO: cute.Tensor, plan: cutlass.Constexpr):
    """Every load of the plan, and what it gave."""
    for k in cutlass.range_constexpr(len(plan)):
        kind, operation, count, order, scope, wide = plan[k]
        words = multimem_load(mX.iterator + 16 * k, operation, KINDS[kind], count, order, scope, wide)
        for c in cutlass.range_constexpr(count):
            mO[8 * k + c] = Int64(words[c]) if cutlass.const_expr(kind != "f32") else words[c].bitcast(Int32)


@cute.kernel
def write_kernel(mX: cute.Tensor, mV: cute.Tensor, plan: cutlass.Constexpr):
    """Every store and reduction of the plan, of words from memory and of constants."""
    for k in cutlass.range_constexpr(len(plan)):
        what, kind, operation, count, order, scope, constant = plan[k]
        word = Int32 if cutlass.const_expr(kind in ("f16", "bf16")) else KINDS[kind]
        words = [word(c + 1) for c in range(count)]
        if cutlass.const_expr(not constant):
            words = [word(mV[8 * k + c]) for c in range(count)]
        if cutlass.const_expr(what == "st"):
            multimem_store(mX.iterator + 16 * k, words, order, scope)
        else:
            multimem_reduce(mX.iterator + 16 * k, operation, words, KINDS[kind], order, scope)


@cute.kernel
def kept_kernel(mX: cute.Tensor, mV: cute.Tensor, plan: cutlass.Constexpr):
    """Plain accesses on both sides of multimem ones, which a compiler may merge only where those are no
    barriers to it: two loads, two stores. And two loads of one multimem address."""
    before = mV[0]
    a = multimem_load(mX.iterator, "add", Int32, 1, "acquire", "sys")
    mV[1] = before + mV[0]
    mV[2] = Int64(1)
    multimem_store(mX.iterator, (Int32(1),), "release", "sys")
    mV[2] = Int64(2)
    b = multimem_load(mX.iterator, "add", Int32, 1, "acquire", "sys")
    mV[3] = Int64(a[0] + b[0])


@cute.jit
def launch(x: cute.Pointer, o: cute.Pointer, which: cutlass.Constexpr, plan: cutlass.Constexpr):
    mX, mO = (cute.make_tensor(p, cute.make_layout(1 << 20)) for p in (x, o))
    which(mX, mO, plan).launch(grid=(1, 1, 1), block=(32, 1, 1))


def compiled(which: Any, plan: Any = ()) -> str:
    """The PTX, which ptxas has assembled."""
    x, o = (make_ptr(t, 256, cutlass.AddressSpace.gmem, assumed_align=16) for t in (Int32, Int64))
    made = cute.compile(launch, x, o, which, tuple(plan)).artifacts
    assert made.CUBIN
    return str(made.PTX)


def accesses(ptx: str) -> list[str]:
    """multimem instructions in their order, `r` for each register."""
    found = []
    for line in re.findall(r"multimem\.[^;]*;", ptx):
        found.append(re.sub(r"%[a-z]+\d+|\ba\d\b", "r", line))
    return found


def refused(call: Any, *facts: Any) -> str:
    """What a ValueError says; nothing where there is none."""
    try:
        call(*facts)
    except ValueError as e:
        return str(e)
    return ""


def loads() -> list[tuple[Any, ...]]:
    """Operations of each type, in each width, orders and scopes taking turns."""
    plan: list[tuple[Any, ...]] = []
    turns = [("weak", ""), *((o, s) for o in ("relaxed", "acquire") for s in SCOPES)]
    for name, kind in KINDS.items():
        for operation in OPERATIONS:
            if refused(multimem_type, "ld_reduce", operation, kind):
                continue
            for count in COUNTS.get(name, (1,)):
                for wide in (True, False) if operation == "add" and name in ("f16", "bf16") else (True,):
                    plan.append((name, operation, count, *turns[len(plan) % len(turns)], wide))
    return plan


def writes() -> list[tuple[Any, ...]]:
    """The same of stores and reductions, each with words from memory and with constants."""
    plan: list[tuple[Any, ...]] = []
    strong = [(o, s) for o in ("relaxed", "release") for s in SCOPES]
    for name, kind in KINDS.items():
        for count in COUNTS.get(name, (1,)):
            for constant in (False, True):
                turns = [("weak", ""), *strong]
                plan.append(("st", name, "", count, *turns[len(plan) % len(turns)], constant))
                for operation in OPERATIONS:
                    if not refused(multimem_type, "red", operation, kind):
                        plan.append(
                            ("red", name, operation, count, *strong[len(plan) % len(strong)], constant)
                        )
    return plan


def main() -> None:
    told: dict[str, Any] = {}
    for what, which, plan in (("loads", load_kernel, loads()), ("writes", write_kernel, writes())):
        ptx = compiled(which, plan)
        told[what] = [plan, accesses(ptx)]
    ptx = compiled(kept_kernel)
    told["kept"] = [len(re.findall(w, ptx)) for w in (r"ld\.global", r"st\.global", r"multimem\.ld_reduce")]
    told["refused"] = [
        refused(multimem_type, *a)
        for a in (
            ("ld_reduce", "max", Float32),
            ("red", "max", BFloat16),
            ("red", "xor", Float16),
            ("red", "exch", Int32),
            ("ld_reduce", "add", Float64),
        )
    ] + [
        refused(multimem_code, *a)
        for a in (
            ("st", "acquire", "sys", "", 1, "b32"),
            ("ld_reduce", "release", "sys", "add", 1, "f32"),
            ("red", "weak", "", "add", 1, "f32"),
            ("ld_reduce", "weak", "sys", "add", 1, "f32"),
            ("ld_reduce", "acquire", "", "add", 1, "f32"),
            ("ld_reduce", "acquire", "sys", "add", 2, "u32"),
            ("st", "weak", "", "", 8, "f32"),
        )
    ]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
