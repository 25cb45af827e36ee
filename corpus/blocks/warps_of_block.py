"""How many warps share a block, for work that is dealt to warps. Host code.

As many multiprocessors as possible come first: one warp a block while there are fewer warps than
multiprocessors, then twice as many as long as each multiprocessor gets a block, up to a bound. Larger blocks
start cheaper; beyond the bound they only end later, since a block's slowest warp holds its place.

The bound is the best of 2, 4, 8 and 16 for QK norm of 16,384 tokens on an H200: 76, 93, 92 and 90 % of its
copy's speed.
Units: warps; multiprocessors.
Source of the technique: multiprocessors first, then larger blocks, up to a measured bound.
"""

MOST_WARPS = 4


def warps_of_block(warps: int, multiprocessors: int) -> int:
    """A power of two from 1 to MOST_WARPS; `warps` is how many the whole launch needs."""
    chosen = 1
    while chosen < MOST_WARPS and warps > chosen * multiprocessors:
        chosen *= 2
    return chosen
