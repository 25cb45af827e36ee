"""How rows of tokens are dispatched to experts: in one launch or two, by how many threads. Host code.

    decode    a thread moves as few vectors as leave every block a multiprocessor of its own: 1, 2, 4, …
              While that works, one launch. Few choices: every block finds the slots itself, which takes no
              longer than in one block, and nobody waits. More: one block does, the others wait for it
    prefill   two launches: slots first, by one block or a cluster, then a row a block, by COPIES

Why the tables are as they are: all find the slots up to where that was timed (8 and 16 of 64 … 256 experts,
128 tokens: 1.1 to 1.2 times as fast as the barrier); accesses of a warp at least, and 4 vectors of a thread
at most under way; 128 choices of a warp where a block of 1024 threads finds the slots.
On an H200 one launch is 1.1 to 1.6 times as fast as two up to 128 tokens, the last for which it is chosen
(docs/corpus_speed.md, rows `switch`, 8 of 128 and of 256 experts, 2026-12-01).

A model is (experts, choices of a token, rows that an expert's are a multiple of, whether padding is zeroed).
Units: accesses are those of a row, of `width` elements each.
Source of the technique: grid-stride sizing by multiprocessors; the fused decode launch is of our own making.
"""

from corpus.blocks.grid_barrier import co_resident

THREADS = 256  # of a block in one launch
FEW_CHOICES = 2048  # whose slots every block finds
MOST_CHOICES = 4096  # whose slots a block has room for
# (accesses of a row up to which it holds, threads, vectors of a thread)
COPIES = ((32, 32, 1), (64, 64, 1), (128, 128, 1), (512, 256, 2), (1 << 30, 256, 4))
# (choices up to which it holds, blocks that find their slots)
ROUTES = ((4096, 1), (1 << 30, 8))
ROUTE_BATCH = 4  # ids that a lane of those loads at a time
ROUTE_BYTES = 36 << 10  # of their counters


def dispatch_plan(plan, tokens, accesses, model, multiprocessors, copy=None):
    """(plan, threads, vectors, route): `plan` as given, or "fused" where every block finds the slots, or
    "barrier" where one does, or "two launches" with route = (warps, blocks) of the first. `copy`, (threads,
    vectors), replaces those of the second. ValueError for a plan that can't be."""
    experts, top_k, _, _ = model
    choices, vectors = tokens * top_k, 1
    while tokens * -(-accesses // (THREADS * vectors)) > multiprocessors and THREADS * vectors < accesses:
        vectors *= 2
    blocks = tokens * -(-accesses // (THREADS * vectors))
    if not plan:
        one = "fused" if choices <= FEW_CHOICES else "barrier"
        plan = one if blocks <= multiprocessors else "two launches"
    if plan == "barrier":
        co_resident(blocks, multiprocessors)
    if plan == "fused" and choices > MOST_CHOICES:
        raise ValueError(f"{choices} choices are too many for each block")
    if plan != "two launches":
        return plan, THREADS, vectors, None
    warps = max(n for n in (1, 2, 4, 8, 16, 32) if 4 * n * (experts + 1) <= ROUTE_BYTES)
    threads, vectors = copy or min(row for row in COPIES if accesses <= row[0])[1:]
    _, route = min(row for row in ROUTES if choices <= row[0])
    return "two launches", threads, vectors, (warps, route)
