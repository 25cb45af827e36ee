"""How rows of tokens are dispatched to experts: in one launch or two, by how many threads. Host code.

    decode    a thread moves as few vectors as leave every block a multiprocessor of its own: 1, 2, 4, …
              While that works, one launch: its blocks find the slots themselves, or wait for one that does
    prefill   two launches: slots first, by one block or a cluster, then a row a block, by COPIES

The tables are not measured yet; what they were chosen for: accesses of a warp at least, 4 vectors of a thread
under way at most, 128 choices of a warp at a time in the block that finds slots.

A model is (experts, choices of a token, rows that an expert's are a multiple of, whether padding is zeroed).
Units: accesses are those of a row, of `width` elements each.
"""

from corpus.blocks.grid_barrier import co_resident

THREADS = 256  # of a block in one launch
MOST_CHOICES = 4096  # whose slots it has room for
# (accesses of a row up to which it holds, threads, vectors of a thread)
COPIES = ((32, 32, 1), (64, 64, 1), (128, 128, 1), (512, 256, 2), (1 << 30, 256, 4))
# (choices up to which it holds, blocks that find their slots)
ROUTES = ((4096, 1), (1 << 30, 8))
ROUTE_BATCH = 4  # ids that a lane of those loads at a time
ROUTE_BYTES = 36 << 10  # of their counters


def dispatch_plan(plan, tokens, accesses, model, multiprocessors, copy=None):
    """(plan, threads, vectors, route): `plan` as given, or "fused" for one launch whose blocks all find the
    slots, "barrier" where one does (in place of "fused", if asked for), "two launches" with route = (warps,
    blocks) of the first. `copy`, (threads, vectors), replaces those of the second."""
    experts, top_k, _, _ = model
    choices, vectors = tokens * top_k, 1
    while tokens * -(-accesses // (THREADS * vectors)) > multiprocessors and THREADS * vectors < accesses:
        vectors *= 2
    blocks = tokens * -(-accesses // (THREADS * vectors))
    if plan == "fused" or (plan != "two launches" and blocks <= multiprocessors and choices <= MOST_CHOICES):
        if plan == "barrier":
            co_resident(blocks, multiprocessors)
        return plan or "fused", THREADS, vectors, None
    warps = 32
    while 4 * warps * (experts + 1) > ROUTE_BYTES and warps > 1:
        warps //= 2
    threads, vectors = copy or min(row for row in COPIES if accesses <= row[0])[1:]
    _, route = min(row for row in ROUTES if choices <= row[0])
    return "two launches", threads, vectors, (warps, route)
