"""Heads of Q and K dealt to threads: a thread has one vector of several heads of one token. Host and traced.

What all heads of a token share (its position, its angles) is then loaded once for `each` heads:

    groups of a token    q0 … q3 | q4 … q7 | … | k0 … k3 | …          each = 4, Q's groups before K's
    thread               ((token · groups) + group) · vectors + vector   neighbours hold neighbouring vectors

Few tokens: `each` is 1, so that there are as many threads as can be. It doubles while every multiprocessor
keeps FULL warps: ptxas spares registers by moving the loads of later heads behind the stores of earlier ones,
so that a warp has one head's loads under way, and occupancy has to hide them. Where `each` does not divide a
number of heads, its last group is short; `certain_heads` are in every group.

MOST_EACH and FULL follow from bytes under way and are not measured: FULL warps with two loads of 16 bytes a
thread are 32 KB a multiprocessor. Units: a vector is what a thread loads of one head.
"""

import cutlass.cute as cute

MOST_EACH, FULL = 4, 32


def group_count(each: int, *heads: int) -> int:
    """Groups of `each` heads, for each number of heads its own."""
    return sum(-(-n // each) for n in heads)


def heads_of_thread(tokens: int, vectors: int, multiprocessors: int, *heads: int) -> int:
    """How many heads a thread has, a power of two up to MOST_EACH."""
    each = 1
    while each < MOST_EACH:
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
