"""Heads of Q and K dealt to threads: a thread has one vector of several heads of one token. Host and traced.

What all heads of a token share (its position, its angles) is then loaded once for `each` heads:

    groups of a token    q0 … q3 | q4 … q7 | … | k0 … k3 | …          each = 4, Q's groups before K's
    thread               ((token · groups) + group) · vectors + vector   neighbours hold neighbouring vectors

Few tokens: `each` is 1, so that there are as many threads as can be. It doubles while every multiprocessor
keeps FULL warps and a thread no more than HELD elements, or two heads: registers that hold more cost warps,
and warps are loads under way. Where `each` does not divide a number of heads, its last group is short;
`certain_heads` are in every group.

HELD is what was fastest on an H200 of 1, 2, 4 and 8 heads with 4, 8 and 16 elements each (rotary embedding,
heads of 64, 128 and 256; with a norm before it another table is: qk_norm_rope's); FULL follows from bytes
under way: 32 KB a multiprocessor.
Units: a vector is what a thread loads of one head.
Source of the technique: thread coarsening; fused rotary kernels that share the angles of a token.
"""

import cutlass.cute as cute

MOST_EACH, HELD, FULL = 4, 16, 32


def group_count(each: int, *heads: int) -> int:
    """Groups of `each` heads, for each number of heads its own."""
    return sum(-(-n // each) for n in heads)


def heads_of_thread(tokens: int, vectors: int, elements: int, multiprocessors: int, *heads: int) -> int:
    """How many heads a thread has, `elements` of each: a power of two up to MOST_EACH."""
    each = 1
    while 2 * each <= min(MOST_EACH, max(2, HELD // elements)):
        if tokens * group_count(2 * each, *heads) * vectors < 32 * FULL * multiprocessors:
            break
        each *= 2
    return each


def certain_heads(each: int, *heads: int) -> int:
    """How many heads every group has at least."""
    return min((n - 1) % each + 1 for n in heads)


def group_place(vectors: int, groups: int, threads: int):
    """(token, group, vector) of this thread in blocks of `threads`; the token may lie beyond the end."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    item = block * threads + thread
    return item // (groups * vectors), item // vectors % groups, item % vectors
