"""One row, or a part of it, read once and written to several rows; unused rows zeroed. Traced.

    block (token, part)      tile (1, threads · vectors · width)

    mX (rows, columns)   row token ─ tile `part` ─→ registers of the block's threads (row_tiles)
    mO (rows, columns)   rows mSlots[token, 0 … top_k - 1] ←─ the same tile of each; a slot below 0 is none

The row is asked for before anything is known of where it goes: what the slots cost, a routing or a wait for
another kernel, passes while it is on its way. All slots are read before the first store. Units: elements.
Source of the technique: permute kernels of mixtures of experts, which read a row once for all its experts.
"""

import cutlass
import cutlass.cute as cute

from corpus.blocks.row_tiles import in_bounds, row_tiles

SHARES = 8  # of a group's unused rows, each zeroed by another block


@cute.jit
def load_part(
    mX: cute.Tensor, row, part, width: cutlass.Constexpr, threads: cutlass.Constexpr,
    vectors: cutlass.Constexpr,
):  # fmt: skip
    """Start to load a block's part of a row. What comes back is for `write_rows` and `zero_unused`."""
    thread, _, _ = cute.arch.thread_idx()
    copy, tile = row_tiles(mX.element_type, threads * width * vectors, width, threads)
    mine = copy.get_slice(thread)
    cX = cute.local_tile(cute.make_identity_tensor((1, mX.shape[1])), tile, (0, part))
    tXgX = mine.partition_S(cute.local_tile(mX, tile, (row, part)))
    tXpX = in_bounds(mine.partition_S(cX), mX.shape[1])
    tXrX = cute.make_fragment_like(tXgX)
    cute.copy(copy, tXgX, tXrX, pred=tXpX)
    return copy, tile, mine, tXrX, tXpX


@cute.jit
def zero_unused(
    loaded, mO: cute.Tensor, mCounts: cute.Tensor, mOffsets: cute.Tensor, block, blocks, part,
    groups: cutlass.Constexpr,
):  # fmt: skip
    """Zero a block's share of the rows from mOffsets[g] + mCounts[g] to mOffsets[g + 1] of all `groups`; it
    is `block` of `blocks` along the rows. What was loaded is gone."""
    copy, tile, mine, tXrX, tXpX = loaded
    tXrX.fill(0.0)
    for j in cutlass.range((groups * SHARES - block + blocks - 1) // blocks, unroll=1):
        group, share = (block + j * blocks) // SHARES, (block + j * blocks) % SHARES
        start = mOffsets[group] + mCounts[group] + share
        for k in cutlass.range((mOffsets[group + 1] - start + SHARES - 1) // SHARES, unroll=1):
            gO = cute.local_tile(mO, tile, (start + k * SHARES, part))
            cute.copy(copy, tXrX, mine.partition_D(gO), pred=tXpX)


@cute.jit
def write_rows(loaded, mO: cute.Tensor, found, token, tokens, part, blocks, model: cutlass.Constexpr):
    """Store the part at each slot of its token, if there is one; then zero a share of the unused rows, where
    wanted. `found`: (mCounts, mOffsets, mSlots); `model`: (groups, slots of a token, pad, zeroes)."""
    copy, tile, mine, tXrX, tXpX = loaded
    groups, top_k, _, zero = model
    if token < tokens:
        slots = [found[2][token * top_k + k] for k in range(top_k)]
        for k in cutlass.range_constexpr(top_k):
            if slots[k] >= 0:
                gO = cute.local_tile(mO, tile, (slots[k], part))
                cute.copy(copy, tXrX, mine.partition_D(gO), pred=tXpX)
    if cutlass.const_expr(zero):
        zero_unused(loaded, mO, found[0], found[1], token, blocks, part, groups)
