"""Kernels around active_lanes; `python -m tests.corpus.block_kernels_lanes` emulates them."""

from __future__ import annotations

import json
from typing import Any

# First of all: it puts what catches launches in place before the DSL is imported.
from tests.corpus.block_kernels import run  # isort: skip

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Int32, Uint32
from cutlass.cute.runtime import make_ptr

from corpus.blocks.active_lanes import active_lanes, claim_place
from verify import emulated_jobs as emulation
from verify.emulator.launch import RunOptions

THREADS, ROUNDS = 96, 5


@cute.kernel
def claim_kernel(
    mWant: cute.Tensor, mO: cute.Tensor, mMask: cute.Tensor, mCount: cute.Tensor, how: cutlass.Constexpr
):
    """A place for each thread that wants one, by the lanes that are there, or by a ballot of the whole warp
    before; counted in global or in shared memory."""
    thread, _, _ = cute.arch.thread_idx()
    wants, mask = mWant[thread] != 0, Uint32(0)
    sCount = cute.arch.alloc_smem(Int32, 1, 16)
    if cutlass.const_expr(how == "shared"):
        if thread == 0:
            sCount[0] = Int32(0)
        cute.arch.sync_threads()
    counter, scope = (sCount, "cta") if cutlass.const_expr(how == "shared") else (mCount.iterator, "gpu")
    if cutlass.const_expr(how == "ballot"):
        mask = Uint32(cute.arch.vote_ballot_sync(wants))
    if wants:
        if cutlass.const_expr(how != "ballot"):
            mask = active_lanes()
        mO[thread] = claim_place(counter, mask, scope)
        mMask[thread] = mask
    if cutlass.const_expr(how == "shared"):
        cute.arch.sync_threads()
        if thread == 0:
            mCount[0] += sCount[0]


@cute.jit
def claim_launch(
    want: cute.Pointer, o: cute.Pointer, mask: cute.Pointer, count: cute.Pointer, how: cutlass.Constexpr
):
    mWant, mO, mMask = (cute.make_tensor(p, cute.make_layout(THREADS)) for p in (want, o, mask))
    mCount = cute.make_tensor(count, cute.make_layout(1))
    claim_kernel(mWant, mO, mMask, mCount, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def rounds_kernel(mWant: cute.Tensor, mO: cute.Tensor, mCount: cute.Tensor):
    """Lanes leave a loop one after the other: each takes as many places as it wants."""
    thread, _, _ = cute.arch.thread_idx()
    k = Int32(0)
    while k < mWant[thread]:
        mO[k, thread] = claim_place(mCount.iterator, active_lanes(), "gpu")
        k += 1


@cute.jit
def rounds_launch(want: cute.Pointer, o: cute.Pointer, count: cute.Pointer):
    mWant, mCount = (
        cute.make_tensor(want, cute.make_layout(THREADS)),
        cute.make_tensor(count, cute.make_layout(1)),
    )
    mO = cute.make_tensor(o, cute.make_layout((ROUNDS, THREADS), stride=(THREADS, 1)))
    rounds_kernel(mWant, mO, mCount).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def twice_kernel(mO: cute.Tensor, native: cutlass.Constexpr):
    """Asked before a branch and in it: two questions with two answers."""
    thread, _, _ = cute.arch.thread_idx()
    ask = cute.arch.activemask if cutlass.const_expr(native) else active_lanes
    mO[thread] = Int32(ask())
    if thread % 2 == 1:
        mO[thread + THREADS] = Int32(ask())


@cute.jit
def twice_launch(o: cute.Pointer, native: cutlass.Constexpr):
    mO = cute.make_tensor(o, cute.make_layout(2 * THREADS))
    twice_kernel(mO, native).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def wanted() -> dict[str, np.ndarray]:
    """Who wants a place."""
    thread = np.arange(THREADS)
    return {
        "none": thread * 0, "all": thread * 0 + 1, "odd": thread % 2, "one": (thread == 37) * 1,
        "last lanes": (thread % 32 > 29) * 1, "mixed": (thread * thread % 7 < 3) * 1,
    }  # fmt: skip


def additions() -> int:
    """Atomic additions of the last launch, over all threads."""
    (seen,) = emulation.HELD.seen
    return sum(n for opcode, n in seen.opcodes.items() if opcode.startswith("atom."))


def main() -> None:
    emulation.HELD.options = RunOptions(count=True)
    told: dict[str, Any] = {"claims": {}, "asked": {}}
    for name, want in wanted().items():
        for how in ("lanes", "ballot", "shared"):
            start = 0 if how == "shared" else 1000
            arrays = [want, np.full(THREADS, -1), want * 0, np.array([start])]
            _, out, mask, count = run(claim_launch, [(Int32, a.astype(np.int32)) for a in arrays], how)
            told["claims"][f"{name}/{how}"] = [out.tolist(), mask.tolist(), int(count[0]), additions()]
    want = np.arange(THREADS) * 5 % (ROUNDS + 1)
    arrays = [want, np.full((ROUNDS, THREADS), -1), np.array([0])]
    _, out, count = run(rounds_launch, [(Int32, a.astype(np.int32)) for a in arrays])
    told["rounds"] = [out.tolist(), int(count[0])]
    out = run(twice_launch, [(Int32, np.zeros(2 * THREADS, np.int32))], False)[0]
    told["twice"] = out.view(np.uint32).tolist()
    for native in (False, True):
        at = make_ptr(Int32, 256, cutlass.AddressSpace.gmem, assumed_align=16)
        ptx = cute.compile(twice_launch, at, native).artifacts.PTX
        told["asked"][str(native)] = ptx.count("activemask.b32")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
