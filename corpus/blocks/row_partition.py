"""How many threads share a row, and how many rows a block takes. Host code: a small table and its reading.

    prefill (more rows than multiprocessors)   a thread moves up to 4 vectors, so that many loads are under
                                               way; blocks of at least 128 threads share their start-up
    decode  (a multiprocessor for each row)    a thread moves 1 vector: a row's latency is what counts, and
                                               blocks of one warp spread over the multiprocessors

A row gets a power of two of lanes, at most a block: 4 … 16 (several rows a warp), 32 (a warp a row) or more
(a block a row). Units: columns and `width` in elements, `width` being that of one access.
"""

# vectors of a thread at most, threads of a block at least
PREFILL, DECODE = (4, 128), (1, 32)
LEAST_LANES, MOST_LANES = 4, 1024


def row_partition(columns: int, width: int, rows: int, multiprocessors: int) -> tuple[int, int]:
    """(lanes of a row, rows of a block); their product is the block's threads, a multiple of 32."""
    vectors, threads = DECODE if rows <= multiprocessors else PREFILL
    wanted = -(-columns // (width * vectors))
    lanes = LEAST_LANES
    while lanes < wanted and lanes < MOST_LANES:
        lanes *= 2
    return lanes, max(1, threads // lanes)
