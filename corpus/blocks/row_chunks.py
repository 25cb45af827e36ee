"""Elementwise work on rows: a block has a chunk of columns of some rows, a thread a vector of each.

    block (chunk c, rows r …)                      lanes = 4, each = 2

              chunk 0    chunk 1                   A thread's loads are of different rows: all under way at
    row r     0 1 2 3    0 1 2 3    ← lane         once, each access of a warp contiguous, what belongs to the
    row r+1   0 1 2 3    0 1 2 3                   column (a bias) read once. Which lanes lie beyond the last
              └ block ┘  └ next ┘                  column is one comparison, around everything they do.

Blocks are counted along the row first: neighbours move neighbouring memory. The number of chunks is known at
compile time, so that no division is left. Rows of fewer vectors than a block has threads share it.

    decode   small blocks until there are SPREAD for each multiprocessor, one row a thread
    prefill  blocks of MOST_LANES; rows a thread until LOADS are under way, while FULL blocks for each
             multiprocessor remain

`row_chunks` is host code, `chunk_blocks` and `chunk_place` are traced. Units: `vectors` of a row, one an
access; rows; threads. The bounds are reckoned from latency and bandwidth, not timed.
Source of the technique: elementwise kernels of several independent loads a thread (memory-level parallelism).
"""

import cutlass.cute as cute

LEAST_LANES, MOST_LANES = 64, 256
SPREAD, FULL, LOADS = 2, 4, 4


def row_chunks(vectors: int, rows: int, loads: int, multiprocessors: int) -> tuple[int, int, int]:
    """(lanes of a chunk, rows of a thread, groups of lanes in a block); `loads` is a thread's for one row."""
    threads, each = LEAST_LANES, 1
    while threads < MOST_LANES and rows * -(-vectors // threads) > SPREAD * multiprocessors:
        threads *= 2
    if 2 * vectors <= threads:
        lanes = 1 << (vectors - 1).bit_length()
        groups = threads // lanes
    else:
        chunks = -(-vectors // threads)
        lanes, groups = -(-vectors // (32 * chunks)) * 32, 1  # chunks of even length
    blocks = rows // groups * -(-vectors // lanes)
    while each * loads < LOADS and blocks >= 2 * each * FULL * multiprocessors:
        each *= 2
    return lanes, each, groups


def chunk_blocks(vectors: int, rows, lanes: int, each: int, groups: int):
    """How many blocks there are for `rows` rows (a number at run time)."""
    return (rows + each * groups - 1) // (each * groups) * -(-vectors // lanes)


def chunk_place(vectors: int, lanes: int, each: int, groups: int):
    """(vector of the row, first row) of this thread; either may lie beyond the end."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    chunks = -(-vectors // lanes)
    return block % chunks * lanes + thread % lanes, (block // chunks * groups + thread // lanes) * each
