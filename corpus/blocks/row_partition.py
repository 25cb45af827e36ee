"""How many threads share a row, and how many rows a block takes. Host code: a small table and its reading.

    prefill (more rows than multiprocessors)   a thread moves 1, 2 or 4 vectors, by the length of the row;
                                               blocks of at least 128 threads share their start-up
    decode  (a multiprocessor for each row)    a thread moves 1 vector: a row's latency is what counts, and
                                               blocks of one warp spread over the multiprocessors

The table is what was fastest for RMS norm on an H200, of 1, 2, 4 and 8 vectors and 128 and 256 threads, for
rows of 32, 128, 512, 896 and 2048 vectors: 88 to 96 % of its copy's speed.

A row gets a power of two of lanes, at most a block: 4 … 16 (several rows a warp), 32 (a warp a row) or more
(a block a row). Units: columns and `width` in elements, `width` being that of one access.
Source of the technique: threads a row by its length, as in quack's reduction kernels.
"""

# (vectors of a row up to which it holds, vectors of a thread)
PREFILL = ((64, 1), (512, 2), (1 << 30, 4))
PREFILL_THREADS, DECODE_THREADS = 128, 32  # of a block at least
LEAST_LANES, MOST_LANES = 4, 1024


def row_partition(columns: int, width: int, rows: int, multiprocessors: int) -> tuple[int, int]:
    """(lanes of a row, rows of a block); their product is the block's threads, a multiple of 32."""
    vectors = -(-columns // width)
    share, threads = 1, DECODE_THREADS
    if rows > multiprocessors:
        share, threads = min(each for most, each in PREFILL if vectors <= most), PREFILL_THREADS
    wanted = -(-vectors // share)
    lanes = LEAST_LANES
    while lanes < wanted and lanes < MOST_LANES:
        lanes *= 2
    return lanes, max(1, threads // lanes)
