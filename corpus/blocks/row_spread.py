"""How many threads, and how many blocks of a cluster, share a row of any length. Host code.

    short rows (row_partition's)                        lanes of a warp, a warp, a block of up to 512 threads
    long rows, more rows than multiprocessors           blocks of 512, so that two share a multiprocessor and
                                                        one loads while the other reduces or stores; as many
                                                        of them as hold the row in registers
    long rows, a multiprocessor for each row            blocks of 1024, as many as multiprocessors allow

A cluster is up to 8 blocks (more are not portable) of one row, and needs sm_90; before that, `most_blocks` is
1 and the row is read again. `hold`: how many vectors of 128 bits a thread may keep; 0 where nothing is kept.

Units: vectors of 128 bits. Costs nothing at run time.
Source of the technique: clusters for long rows, as in quack's reduction kernels.
"""

from corpus.blocks.row_partition import row_partition

LONG, WIDE, WIDEST = 2048, 512, 1024  # vectors of a long row at least; threads of its blocks


def row_spread(
    vectors: int, rows: int, multiprocessors: int, most_blocks: int, hold: int
) -> tuple[int, int, int]:
    """(lanes of a row in each block, rows of a block, blocks of a row, a power of two)."""
    lanes, block_rows = row_partition(vectors, 1, rows, multiprocessors)
    blocks = 1
    if rows > multiprocessors:
        if vectors > LONG:
            lanes, block_rows = WIDE, 1
        while lanes < WIDE and lanes * hold < vectors and hold:
            lanes, block_rows = 2 * lanes, max(1, block_rows // 2)
        while blocks < most_blocks and blocks * lanes * hold < vectors and hold:
            blocks *= 2
        while lanes < WIDEST and hold and blocks * lanes * hold < vectors:
            lanes *= 2
        return lanes, block_rows, blocks
    while blocks < most_blocks and blocks * lanes < vectors and 2 * blocks * rows <= multiprocessors:
        blocks *= 2
    while blocks < most_blocks and hold and blocks * lanes * hold < vectors:
        blocks *= 2
    return lanes, block_rows, blocks
