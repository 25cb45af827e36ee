"""Sums over the tiles before a tile, while other blocks still work on those: decoupled look-back. Traced.

Each tile has a word of 64 bits, zero at first: a mark in its upper half, the bits of a sum in its lower one.
Both change at once, so that a relaxed store publishes them and no fence is needed.

    mState (tiles,)     …  WHOLE 40 │ OWN 3 │ OWN 5 │ OWN 1 │ ← this tile: 40 + 3 + 5 + 1
                                                               (0: nothing known yet, look again)

    OWN    the tile's own sum            WHOLE    the sum up to and with the tile

Once all tiles know the whole nobody looks back any more: then the block of the last tile, the last to start,
may clear the words (`clear_states`), and no block has to say that it is done.

A warp looks at 32 tiles at a time, back to the nearest that knows the whole. Tiles must be numbered in the
order in which blocks start, by a counter, or a block may wait for one that gets no place: then blocks wait
only for those that run or have run. Sums have 32 bits. The order of additions depends on who was faster:
floats differ in their last bits from run to run.
Units: those of the values; a word of 64 bits a tile.
Source of the technique: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back.
"""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Boolean, Int32, Uint32, Uint64

from corpus.blocks.lane_reduce import lane_reduce

OWN, WHOLE = 1, 2


@cute.jit
def publish(mState: cute.Tensor, tile, value, mark: cutlass.Constexpr):
    """Tell other blocks a sum of `tile`; one thread does."""
    word = Uint64(mark) << 32 | Uint64(value.bitcast(Uint32))
    cute.arch.store(mState.iterator + tile, word, sem="relaxed", scope="gpu")


@cute.jit
def look_back(mState: cute.Tensor, tile, kind: cutlass.Constexpr):
    """The sum of all tiles before `tile`, in all lanes of a warp, all of which must arrive."""
    lane = cute.arch.lane_idx()
    total, at, going = kind(0), tile - 1 - lane, Boolean(tile > 0)
    while going:
        word = Uint64(WHOLE) << 32  # before the first tile: a sum of nothing
        if at >= 0:
            word = Uint64(cute.arch.load(mState.iterator + at, Uint64, sem="relaxed", scope="gpu"))
        mark = Int32(word >> 32)
        unknown = Uint32(cute.arch.vote_ballot_sync(mark == 0))
        whole = Uint32(cute.arch.vote_ballot_sync(mark == WHOLE))
        nearest = whole & (~whole + 1)
        wanted = nearest | (nearest - 1)  # lanes up to the nearest that knows the whole, or all
        if unknown & wanted == 0:
            mine = kind(0)
            if wanted >> lane & 1 != 0:
                mine = Uint32(word).bitcast(kind)
            total += lane_reduce(mine, operator.add, 32)
            at -= 32
            going = whole == 0
    return total


@cute.jit
def clear_states(mState: cute.Tensor, thread, threads: cutlass.Constexpr):
    """Wait until every tile knows the whole, then clear all words; all threads of one block do. A thread
    clears what it has read itself, so that no zero comes before the sum it has seen."""
    tiles = cute.size(mState)
    for k in cutlass.range(thread, tiles, threads):
        mark = Int32(0)
        while mark != WHOLE:
            word = Uint64(cute.arch.load(mState.iterator + k, Uint64, sem="relaxed", scope="gpu"))
            mark = Int32(word >> 32)
    cute.arch.sync_threads()
    for k in cutlass.range(thread, tiles, threads):
        cute.arch.store(mState.iterator + k, Uint64(0), sem="relaxed", scope="gpu")
