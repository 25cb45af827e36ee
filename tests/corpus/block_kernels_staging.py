"""Kernels around async_copy and dependent_launch; run as `python -m tests.corpus.block_kernels_staging`."""

from __future__ import annotations

import ctypes
import json
import re
import struct
from typing import Any

# First of all: it puts what catches launches in place before the DSL is imported.
from tests.corpus.block_kernels import run  # isort: skip

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float32, Int8, Int16, Int32, Int64
from cutlass.cute.runtime import make_ptr

from corpus.blocks.async_copy import (
    commit_copies,
    copies_arrive,
    copies_but,
    copies_expect,
    copy_async,
    mbarrier_ready,
)
from corpus.blocks.dependent_launch import dependents_may_start, wait_for_launches
from verify.emulator.port import launches

THREADS, STEPS, STAGES = 32, 7, 3
KINDS = {1: Int8, 2: Int16, 4: Int32, 8: Int32, 16: Int32}


@cute.kernel
def ring_kernel(
    mX: cute.Tensor, mO: cute.Tensor, size: cutlass.Constexpr, behind: cutlass.Constexpr,
    read: Int32,
):  # fmt: skip
    """Each thread takes its column of mX, (steps, threads, elements), through a ring of stages of its own;
    what lies beyond `read` steps does not exist. `behind`: groups that may still be under way at a read."""
    thread, _, _ = cute.arch.thread_idx()
    kind, each = mX.element_type, cute.size(mX, mode=[2])
    memory = cute.arch.alloc_smem(kind, STAGES * THREADS * each, 16)
    shape, stride = (STAGES, THREADS, each), (THREADS * each, each, 1)
    sX = cute.make_tensor(memory, cute.make_layout(shape, stride=stride))
    for s in cutlass.range_constexpr(STAGES):
        for e in cutlass.range_constexpr(each):
            sX[s, thread, e] = kind(77)
    for s in cutlass.range_constexpr(STAGES - 1):
        copy_async(mX[s, thread, None], sX[s, thread, None], s < read)
        commit_copies()
    for s in cutlass.range(STEPS, unroll=1):
        copies_but(behind)
        for e in cutlass.range_constexpr(each):
            mO[s, thread, e] = sX[s % STAGES, thread, e]
        ahead = s + STAGES - 1
        copy_async(mX[ahead, thread, None], sX[ahead % STAGES, thread, None], ahead < read)
        commit_copies()
    copies_but(0)


@cute.jit
def ring_launch(
    x: cute.Pointer, o: cute.Pointer, size: cutlass.Constexpr, behind: cutlass.Constexpr, read: Int32
):
    each = size // (KINDS[size].width // 8)
    layout = cute.make_layout((1 << 20, THREADS, each), stride=(THREADS * each, each, 1))
    mX, mO = (cute.make_tensor(p, layout) for p in (x, o))
    ring_kernel(mX, mO, size, behind, read).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def mbarrier_kernel(mX: cute.Tensor, mO: cute.Tensor, waits: cutlass.Constexpr):
    """Twice: every thread copies an element, and reads another's when all have arrived."""
    thread, _, _ = cute.arch.thread_idx()
    sX = cute.make_tensor(cute.arch.alloc_smem(Int32, 64, 16), cute.make_layout((64, 1)))
    mbar = cute.arch.alloc_smem(Int64, 1, 8)
    if thread == 0:
        mbarrier_ready(mbar, 64)
    cute.arch.sync_threads()
    for s in cutlass.range_constexpr(2):
        copy_async(mX[s, thread, None], sX[thread, None], thread != 5)
        copies_arrive(mbar)
        if cutlass.const_expr(waits):
            cute.arch.mbarrier_wait(mbar, s)
        mO[s, thread] = sX[63 - thread, 0]
        cute.arch.sync_threads()


@cute.jit
def mbarrier_launch(x: cute.Pointer, o: cute.Pointer, waits: cutlass.Constexpr):
    mX = cute.make_tensor(x, cute.make_layout((2, 64, 1), stride=(64, 1, 1)))
    mO = cute.make_tensor(o, cute.make_layout((2, 64), stride=(64, 1)))
    mbarrier_kernel(mX, mO, waits).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def bulk_kernel(mX: cute.Tensor, mO: cute.Tensor):
    """Thread 0 announces 256 bytes and has them copied in bulk; all wait."""
    thread, _, _ = cute.arch.thread_idx()
    memory, mbar = cute.arch.alloc_smem(Int32, 64, 16), cute.arch.alloc_smem(Int64, 1, 8)
    if thread == 0:
        mbarrier_ready(mbar, 1)
    cute.arch.sync_threads()
    if thread == 0:
        copies_expect(mbar, 256)
        cute.arch.inline_ptx(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [{$r0}], [{$r1}], 256, [{$r2}];",
            read_only_args=[memory, mX.iterator, mbar],
        )
    cute.arch.mbarrier_wait(mbar, 0)
    mO[thread] = memory[63 - thread]


@cute.jit
def bulk_launch(x: cute.Pointer, o: cute.Pointer):
    mX, mO = (cute.make_tensor(p, cute.make_layout(64)) for p in (x, o))
    bulk_kernel(mX, mO).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def chain_kernel(mX: cute.Tensor, mO: cute.Tensor, early: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    wait_for_launches(early)
    dependents_may_start(early)
    mO[thread] = mX[63 - thread] * 2.0 + 1.0


@cute.jit
def chain_launch(x: cute.Pointer, o: cute.Pointer, early: cutlass.Constexpr):
    mX, mO = (cute.make_tensor(p, cute.make_layout(64)) for p in (x, o))
    for a, b in ((mX, mO), (mO, mX), (mX, mO)):
        chain_kernel(a, b, early).launch(grid=(1, 1, 1), block=(64, 1, 1), use_pdl=early)


def early_launches() -> list[int]:
    """A list to which every launch from now on adds what it asks of programmatic dependent launch, 0 or 1."""
    asked: list[int] = []
    own = launches._attributes

    def seen(at: Any, count: int) -> Any:
        for i in range(count):
            kind, _, value = struct.unpack(
                "3i", ctypes.string_at((at or 0) + i * launches._ATTRIBUTE_BYTES, 12)
            )
            if kind == 6:  # cudaLaunchAttributeProgrammaticStreamSerialization
                asked.append(value)
        return own(at, count)

    launches._attributes = seen
    return asked


def main() -> None:
    told: dict[str, Any] = {"ring": {}, "mbarrier": {}, "chain": {}}
    for size, kind in KINDS.items():
        for read in (STEPS, 4):
            dtype = {Int8: np.int8, Int16: np.int16, Int32: np.int32}[kind]
            x = (np.arange(read * THREADS * size // dtype().itemsize) % 119 + 1).astype(dtype)
            out = np.zeros(STEPS * THREADS * size // dtype().itemsize, dtype)
            out = run(ring_launch, [(kind, x), (kind, out)], size, STAGES - 2, Int32(read))[1]
            told["ring"][f"{size} {read}"] = [x.tolist(), out.tolist()]
    x = np.arange(STEPS * THREADS, dtype=np.int32)
    late = run(ring_launch, [(Int32, x), (Int32, x * 0)], 4, STAGES - 1, Int32(STEPS))[1]
    told["late"] = late.reshape(STEPS, THREADS)[:, 0].tolist()
    x = np.arange(128, dtype=np.int32)
    told["mbarrier"]["copies"] = run(mbarrier_launch, [(Int32, x), (Int32, x * 0)], True)[1].tolist()
    try:
        run(mbarrier_launch, [(Int32, x), (Int32, x * 0)], False)
    except RuntimeError as e:
        told["mbarrier"]["unwaited"] = next((c for c in ("CP8005",) if c in str(e)), str(e))
    told["mbarrier"]["bulk"] = run(bulk_launch, [(Int32, x[:64]), (Int32, x[:64] * 0)])[1].tolist()
    f = np.arange(64, dtype=np.float32)
    asked = early_launches()
    at = make_ptr(Float32, 256, cutlass.AddressSpace.gmem, assumed_align=16)
    for early in (False, True):
        asked.clear()
        out = run(chain_launch, [(Float32, f), (Float32, f * 0)], early)[1].tolist()
        text = cute.compile(chain_launch, at, at, early).artifacts.PTX
        order = re.findall(r"griddepcontrol\.\w+|ld\.global|st\.global", text)
        told["chain"][str(early)] = [out, order, sum(asked)]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
