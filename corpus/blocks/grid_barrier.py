"""A barrier for all blocks of a cooperative launch, on one word that is zero before it and after it.

Thread 0 of each block adds one when its block arrives and one when it leaves, modulo 2 · blocks:

    word     0 … blocks - 1 gathering  │  blocks … 2 · blocks - 1 open  │  0, as it was found

The last to arrive opens it. It falls to zero with the last to leave, who leaves after all have seen it open:
nobody has to reset it between launches, and whoever owns the word can tell that none is under way. A second
barrier of the same launch needs another word; a third may take the first again.

What any thread wrote before is seen by every thread after: within a block by its own barriers, between blocks
by the arrival, which releases at GPU scope, and the load that finds the word open, which acquires. A block
that has to wait sleeps between two looks, so that others have the memory to themselves.

All blocks must be on the GPU at once, or they wait for ever: launch with `cooperative=True`, which makes the
driver refuse a grid that does not fit, and ask `co_resident` first, which says so in words.
Units: the word counts blocks.
Source of the technique: grid barriers of cooperative groups, which flip a bit of a word instead.
"""

import cutlass.cute as cute
from cutlass import Uint32

SLEEP = 32  # ns between two looks at the word


def co_resident(blocks: int, multiprocessors: int) -> int:
    """`blocks`, if they fit at once whatever registers and shared memory they take: one a multiprocessor.
    ValueError otherwise. Host code."""
    if not 0 < blocks <= multiprocessors:
        raise ValueError(f"{blocks} blocks can't wait for each other on {multiprocessors} multiprocessors")
    return blocks


@cute.jit
def grid_barrier(word: cute.Pointer, blocks):
    """Wait for all `blocks` of the grid. All threads must arrive. `word`: 32 bits of global memory."""
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.sync_threads()
    if thread == 0:
        last = Uint32(2 * blocks - 1)
        cute.arch.inline_ptx("red.release.gpu.global.inc.u32 [{$r0}], {$r1};", read_only_args=[word, last])
        while Uint32(cute.arch.load(word, Uint32, sem="acquire", scope="gpu")) < Uint32(blocks):
            cute.arch.inline_ptx("nanosleep.u32 {$r0};", read_only_args=[Uint32(SLEEP)])
        cute.arch.inline_ptx("red.relaxed.gpu.global.inc.u32 [{$r0}], {$r1};", read_only_args=[word, last])
    cute.arch.sync_threads()
