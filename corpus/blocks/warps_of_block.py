"""How many warps share a block, for work that is dealt to warps. Host code.

As many multiprocessors as possible come first: one warp a block while there are fewer warps than
multiprocessors, then twice as many as long as each multiprocessor gets a block, up to a bound. Larger blocks
start cheaper; beyond the bound they only end later, since a block's slowest warp holds its place.
"""

MOST_WARPS = 8


def warps_of_block(warps: int, multiprocessors: int) -> int:
    """A power of two from 1 to MOST_WARPS; `warps` is how many the whole launch needs."""
    chosen = 1
    while chosen < MOST_WARPS and warps > chosen * multiprocessors:
        chosen *= 2
    return chosen
