"""Copies from global to shared memory that nobody waits for before they are needed, and their waits. Traced.

    copy_async ×n   commit_copies │ copy_async ×n   commit_copies │ … │ copies_but(1) │ read the first group
    ─── group 0 ────────────────── ─── group 1 ──────────────────       all but the newest have arrived

A copy moves 16, 8 or 4 bytes without a register; where `exists` does not hold it reads nothing and writes
zeros. 16 bytes pass by L1 (`.cg`), the others go through it (`.ca`). 2 bytes or 1 can't be copied so: they go
through a register at once. Source and target are aligned to the size. A thread sees what it copied itself
after `copies_but`; others after a barrier that follows it. Groups are a thread's own, and end in order. A
slot is filled again by the thread that has read it, or after a barrier.

In place of groups an mbarrier may wait, which any thread can look at: 8 bytes of shared memory, aligned to 8.

    mbarrier_ready(mbar, threads)      once, by one thread; then a barrier of the block
    copy_async … , copies_arrive(mbar)     each of `threads` threads: it arrives when its copies have
    cute.arch.mbarrier_wait(mbar, phase)   phase 0, then 1, 0, 1, …: acquires; all of the block may read

`copies_expect(mbar, bytes)` arrives once and adds bytes that bulk copies bring before the phase ends. Groups
need sm_80, mbarriers sm_90. In DSL 4.8.1 `cute.arch` has the groups and the mbarriers, and its waits are
barriers to the compiler; its copy is an atom of tiled copies, so a single one is PTX here.
Units: sizes of copies in bytes, groups by count; phases 0 and 1.
Source of the technique: cp.async pipelines of CUTLASS's sm_80 collectives; cuda::pipeline of one thread.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Int32


@cute.jit
def copy_small(gX: cute.Tensor, sX: cute.Tensor, exists):
    """`copy_async` of fewer than 4 bytes: it has happened when this returns."""
    for k in cutlass.range_constexpr(cute.size(gX)):
        value = gX.element_type(0)
        if exists:
            value = gX[k]
        sX[k] = value


def copy_async(gX: cute.Tensor, sX: cute.Tensor, exists):
    """Start to copy `gX`, one access of global memory, to `sX`, the same in shared memory; zeros where
    `exists` does not hold, whatever its address is."""
    size = cute.size(gX) * gX.element_type.width // 8
    if size < 4:
        copy_small(gX, sX, exists)
    else:
        cache = "cg" if size == 16 else "ca"
        cute.arch.inline_ptx(
            f"cp.async.{cache}.shared::cta.global [{{$r0}}], [{{$r1}}], {size}, {{$r2}};",
            read_only_args=[sX.iterator, gX.iterator, Int32(exists) * size],
        )


def commit_copies():
    """What this thread copied since the last commit is one group, which may be empty."""
    cute.arch.cp_async_commit_group()


def copies_but(newest: int):
    """Wait until all groups of this thread but the `newest` ones have arrived."""
    cute.arch.cp_async_wait_group(newest)


def mbarrier_ready(mbar, arrivals):
    """Make an mbarrier of as many arrivals a phase. By one thread; then a barrier of the block."""
    cute.arch.mbarrier_init(mbar, arrivals)
    cute.arch.mbarrier_init_fence()


def copies_arrive(mbar):
    """Arrive at the mbarrier when this thread's copies so far have arrived."""
    cute.arch.cp_async_mbarrier_arrive_noinc(mbar)


def copies_expect(mbar, count):
    """Arrive at the mbarrier, whose phase then also waits for `count` bytes of bulk copies."""
    cute.arch.mbarrier_arrive_and_expect_tx(mbar, count)
