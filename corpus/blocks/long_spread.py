"""How many threads and blocks share a long row that is read twice, where registers do not hold it. Host code.

A second read comes from the L2 cache as long as the rows under way fit into it, and costs less than a cluster
that is larger for the sake of registers: its blocks wait for each other, and it waits for a group of free
multiprocessors. So blocks have WIDE threads, of which several fit a multiprocessor, and there are

    many rows   as many blocks as leave a thread `share` vectors: 64 KB a block where that is 8
    few rows    as many as three quarters of the multiprocessors have room for, two blocks a row at least

    131,072 columns of bf16   │ block 0: 32,768 │ block 1 │ block 2 │ block 3 │    512 threads, two sweeps
    131,072 columns of fp32   │ block 0: 16,384 │ … │ block 7 │                    held, one sweep

Above 8 blocks (more are not portable) their threads double. On an H200, of 512 and 1024 threads and 1 to 8
blocks, this is within 5 % of the fastest for 25 of 27 shapes (1 to 4,096 rows of 20,480 to 262,144 elements),
and within 11 % for all (softmax, 2026-12-01).

Units: vectors of 128 bits. Costs nothing at run time.
Source of the technique: clusters for long rows, as in quack's reduction kernels; the rest was measured.
"""

from corpus.blocks.row_spread import WIDE, WIDEST


def long_spread(
    vectors: int, rows: int, multiprocessors: int, most_blocks: int, share: int
) -> tuple[int, int]:
    """(threads of a block, blocks of a row, a power of two)."""
    lanes, blocks, room = WIDE, 1, 3 * multiprocessors // 4
    few = rows <= room
    least = 1 if few else share
    while blocks < most_blocks and blocks * WIDE * least < vectors and (blocks * rows <= room or not few):
        blocks *= 2
    while lanes < WIDEST and blocks == most_blocks and blocks * lanes * share < vectors:
        lanes *= 2
    return lanes, blocks
