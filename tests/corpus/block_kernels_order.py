"""Kernels around memory_order; `python -m tests.corpus.block_kernels_order` emulates them."""

from __future__ import annotations

import json
import re
from typing import Any

# First of all: it puts what catches launches in place before the DSL is imported.
from tests.corpus.block_kernels import run  # isort: skip

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float32, Int32, Int64, Uint32, Uint64
from cutlass.cute.runtime import make_ptr

from corpus.blocks.memory_order import (
    atomic_as,
    fence_as,
    load_as,
    reduce_as,
    store_as,
    swap_if,
    wait_for,
)

KINDS = {
    "i32": (Int32, np.int32), "u32": (Uint32, np.uint32), "i64": (Int64, np.int64),
    "u64": (Uint64, np.uint64), "f32": (Float32, np.float32),
}  # fmt: skip
OPERATIONS = ("add", "max", "min", "and", "or", "xor")
ORDERS = {"load": ("relaxed", "acquire"), "store": ("relaxed", "release"), "red": ("relaxed", "release")}
SCOPES = ("cta", "cluster", "gpu", "sys")
THREADS, BLOCKS = 32, 2


@cute.kernel
def once_kernel(mX: cute.Tensor, mO: cute.Tensor, kind: cutlass.Constexpr, plan: cutlass.Constexpr):
    """Each operation of the plan by each thread on a cell of its own: mX[k, 0], or shared memory that begins
    and ends as that; mX[k, 1] is the operand, mX[k, 2] what cas expects, mO[k] what came back."""
    thread, _, _ = cute.arch.thread_idx()
    rS = cute.arch.alloc_smem(kind, THREADS, 16) + thread
    for k in cutlass.range_constexpr(len(plan)):
        what, order, scope, shared = plan[k]
        value = kind(mX[k, 1, thread])
        cell = mX.iterator + (3 * k * THREADS + thread)
        if cutlass.const_expr(shared):
            cell = rS
            cell[0] = kind(mX[k, 0, thread])
        if cutlass.const_expr(what == "load"):
            mO[k, thread] = load_as(cell, kind, order, scope)
        elif cutlass.const_expr(what == "store"):
            store_as(cell, value, order, scope)
        elif cutlass.const_expr(what == "cas"):
            mO[k, thread] = swap_if(cell, kind(mX[k, 2, thread]), value, order, scope)
        elif cutlass.const_expr(what.startswith("red ")):
            reduce_as(cell, what.removeprefix("red "), value, order, scope)
        else:
            mO[k, thread] = atomic_as(cell, what, value, order, scope)
        if cutlass.const_expr(shared):
            mX[k, 0, thread] = kind(cell[0])


@cute.jit
def once_launch(x: cute.Pointer, o: cute.Pointer, kind: cutlass.Constexpr, plan: cutlass.Constexpr):
    mX = cute.make_tensor(x, cute.make_layout((len(plan), 3, THREADS), stride=(3 * THREADS, THREADS, 1)))
    mO = cute.make_tensor(o, cute.make_layout((len(plan), THREADS), stride=(THREADS, 1)))
    once_kernel(mX, mO, kind, plan).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def all_kernel(mX: cute.Tensor, mO: cute.Tensor, kind: cutlass.Constexpr, whats: cutlass.Constexpr):
    """Every thread of two blocks on one cell: mO[k, 0] by reductions, mO[k, 1] by atomics."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    value = kind(mX[block, thread])
    for k in cutlass.range_constexpr(len(whats)):
        reduce_as(mO.iterator + 2 * k, whats[k], value, "relaxed", "gpu")
        atomic_as(mO.iterator + (2 * k + 1), whats[k], value, "relaxed", "gpu")


@cute.jit
def all_launch(x: cute.Pointer, o: cute.Pointer, kind: cutlass.Constexpr, whats: cutlass.Constexpr):
    mX = cute.make_tensor(x, cute.make_layout((BLOCKS, THREADS), stride=(THREADS, 1)))
    mO = cute.make_tensor(o, cute.make_layout((len(whats), 2), stride=(2, 1)))
    all_kernel(mX, mO, kind, whats).launch(grid=(BLOCKS, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def message_kernel(mX: cute.Tensor, mO: cute.Tensor, mFlag: cute.Tensor, by: cutlass.Constexpr):
    """Block 0 writes 32 numbers twice and says so after each time; block 1 has read them before and must see
    the first, then the second. What each thread of block 1 saw stands in mO."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    flag, back = mFlag.iterator, mFlag.iterator + 1
    for step in cutlass.range_constexpr(2):
        if block == 0:
            mX[thread] = 100 * (step + 1) + thread
            cute.arch.sync_threads()
            if thread == 0:
                if cutlass.const_expr(by == "block"):
                    store_as(flag, Int32(step + 1), "release", "gpu")
                elif cutlass.const_expr(by == "reduction"):
                    reduce_as(flag, "add", Int32(1), "release", "gpu")
                elif cutlass.const_expr(by == "fence"):
                    fence_as("acq_rel", "gpu")
                    store_as(flag, Int32(step + 1), "relaxed", "gpu")
                else:
                    store_as(flag, Int32(step + 1), "relaxed", "gpu")
                wait_for(back, Int32(step + 1), "gpu")
            cute.arch.sync_threads()
        else:
            if thread == 0:
                wait_for(flag, Int32(step + 1), "gpu")
            cute.arch.sync_threads()
            mO[step, thread] = mX[31 - thread]
            cute.arch.sync_threads()
            if thread == 0:
                store_as(back, Int32(step + 1), "release", "gpu")


@cute.jit
def message_launch(x: cute.Pointer, o: cute.Pointer, flag: cute.Pointer, by: cutlass.Constexpr):
    mX, mFlag = cute.make_tensor(x, cute.make_layout(32)), cute.make_tensor(flag, cute.make_layout(2))
    mO = cute.make_tensor(o, cute.make_layout((2, 32), stride=(32, 1)))
    message_kernel(mX, mO, mFlag, by).launch(grid=(2, 1, 1), block=(32, 1, 1), cooperative=True)


@cute.kernel
def kept_kernel(mX: cute.Tensor, native: cutlass.Constexpr):
    """What a compiler may leave out where it takes a strong access for no barrier: the second of two loads
    around an acquire, the first of two stores around a release."""
    before, seen = mX[0], Int32(0)
    if cutlass.const_expr(native):
        seen = cute.arch.load(mX.iterator + 8, Int32, sem="acquire", scope="gpu")
    else:
        seen = load_as(mX.iterator + 8, Int32, "acquire", "gpu")
    mX[1] = before + mX[0] + seen
    mX[2] = Int32(1)
    if cutlass.const_expr(native):
        cute.arch.store(mX.iterator + 9, Int32(1), sem="release", scope="gpu")
    else:
        store_as(mX.iterator + 9, Int32(1), "release", "gpu")
    mX[2] = Int32(2)


@cute.jit
def kept_launch(x: cute.Pointer, native: cutlass.Constexpr):
    mX = cute.make_tensor(x, cute.make_layout(16))
    kept_kernel(mX, native).launch(grid=(1, 1, 1), block=(1, 1, 1))


def numbers(name: str, rows: int, seed: int) -> np.ndarray:
    """Values with all bits in use, (rows, 3, threads); half of the third equal those of the first."""
    rng, kind = np.random.default_rng(seed), KINDS[name][1]
    if name == "f32":
        x = (rng.normal(size=(rows, 3, THREADS)) * 100).astype(kind)
        corners = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, -np.nan], kind)
        x[:, :2, :24] = rng.choice(corners, (rows, 2, 24))
    else:
        x = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (rows, 3, THREADS), kind, endpoint=True)
    x[:, 2, ::2] = x[:, 0, ::2]
    return x


def bits(x: np.ndarray) -> Any:
    """Lists of the unsigned integers that the values are."""
    return x.view(f"u{x.itemsize}").tolist()


def plan_of(name: str, start: int) -> list[tuple[str, str, str, bool]]:
    """Every operation of a type twice, orders, scopes and memories taking turns."""
    logic = () if name == "f32" else OPERATIONS[3:6]
    plan = []
    for what in (
        "load",
        "store",
        *OPERATIONS[:3],
        *logic,
        "exch",
        "cas",
        *("red " + o for o in OPERATIONS[:3] + logic),
    ):
        for shared in (False, True):
            orders = ORDERS.get(what.partition(" ")[0], ("relaxed", "acquire", "release", "acq_rel"))
            turn = 2 * start + len(plan)
            plan.append((what, orders[turn // 2 % len(orders)], SCOPES[(turn + start) % len(SCOPES)], shared))
    return plan


def main() -> None:
    told: dict[str, Any] = {"once": {}, "all": {}, "message": {}, "kept": {}}
    for k, (name, (kind, _)) in enumerate(KINDS.items()):
        plan = plan_of(name, k)
        x = numbers(name, len(plan), k)
        after, back = run(once_launch, [(kind, x), (kind, x[:, 0] * 0)], kind, tuple(plan))
        told["once"][name] = [plan, *(bits(a) for a in (x, after[:, 0], back))]
        whats = tuple(o for o in OPERATIONS[:6] if name != "f32" or o in OPERATIONS[:3])
        x = numbers(name, 1, 7)[0, :BLOCKS]
        if name == "f32":
            x = np.arange(2.0 * THREADS, dtype=np.float32).reshape(2, THREADS) - 40  # exact in any order
        cells = np.full((len(whats), 2), x[0, 0])
        told["all"][name] = [
            whats,
            x.tolist(),
            run(all_launch, [(kind, x), (kind, cells)], kind, whats)[1].tolist(),
        ]
    for by in ("block", "reduction", "fence", "nothing"):
        cells = [np.zeros(32, np.int32), np.full((2, 32), -1, np.int32), np.zeros(2, np.int32)]
        try:
            told["message"][by] = run(message_launch, [(Int32, c) for c in cells], by)[1].tolist()
        except RuntimeError as e:
            told["message"][by] = next((c for c in ("CP8012",) if c in str(e)), str(e))
    for native in (False, True):
        at = make_ptr(Int32, 256, cutlass.AddressSpace.gmem, assumed_align=16)
        text = cute.compile(kept_launch, at, native).artifacts.PTX
        told["kept"][str(native)] = [len(re.findall(what, text)) for what in (r"ld\.global", r"st\.global")]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
