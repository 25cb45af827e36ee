"""Which block of a grid is the last to come by, on one word that is zero before it and after it. Traced.

    block   writes its part ─ barrier ─ thread 0 adds one to the word, modulo blocks ─→ what it was ─ barrier
    last    finds blocks - 1: all others have been here, and the word is 0 again for the next launch

What any thread of any block wrote before, all threads of the last one see after: within a block by its
barriers, between blocks by the addition, which releases and acquires at GPU scope. No block waits for
another, so that the grid may have any size: a second stage of a reduction needs no second launch.
Units: the word counts blocks.
Source of the technique: __threadfence, then atomicInc, of CUDA's samples.
"""

import cutlass.cute as cute
from cutlass import Int32, Uint32


@cute.jit
def last_block(word: cute.Pointer, blocks, sFound: cute.Tensor):
    """Whether this block is the last of `blocks`, in all its threads, who all must arrive. `word`: 32 bits of
    global memory; `sFound` is one Int32, used once."""
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.sync_threads()
    if thread == 0:
        sFound[0] = Int32(
            cute.arch.inline_ptx(
                "atom.acq_rel.gpu.global.inc.u32 {$w0}, [{$r0}], {$r1};",
                write_only_types=[Uint32],
                read_only_args=[word, Uint32(blocks - 1)],
            )
        )
    cute.arch.sync_threads()
    return sFound[0] == blocks - 1
