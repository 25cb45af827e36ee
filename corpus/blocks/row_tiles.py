"""One row to a group of lanes: which lane holds which elements (a TV layout), and what of it exists. Traced.

`lanes` neighbouring threads share a row and take `width` neighbouring elements at a time, so that an access
of a warp is contiguous. With lanes = 4, width = 2, a row of 16 columns:

    column    0 1 2 3 4 5 6 7 | 8 9 ...            chunk 0 | chunk 1
    lane      0 0 1 1 2 2 3 3 | 0 0 ...

    thread-value layout of a chunk: (lanes, width) : (width, 1) over a tile (1, lanes · width)

A tile is one row, rounded up to whole chunks; `in_bounds` says which accesses exist. Where the row divides
evenly the predicates are constants, and loads have no branches around them: a branch would take the
conversions after a load into itself, so that the next load waits for the one before. Units: elements.
Source of the technique: tiled copies as in CUTLASS's elementwise examples and quack's row kernels.
"""

import cutlass
import cutlass.cute as cute


def row_tiles(element, columns: int, width: int, lanes: int):
    """(tiled copy, tile shape): accesses of `width` elements; the tile is (1, columns rounded up)."""
    operation, span = cute.nvgpu.CopyUniversalOp(), lanes * width
    atom = cute.make_copy_atom(operation, element, num_bits_per_copy=width * element.width)
    threads_values = cute.make_layout((lanes, width), stride=(width, 1))
    return cute.make_tiled_copy(atom, threads_values, (1, span)), (1, (columns + span - 1) // span * span)


@cute.jit
def in_bounds(tXcX: cute.Tensor, columns: cutlass.Constexpr):
    """A predicate for each access of a thread: whether its first column, and so all of it, exists.
    `tXcX` are the thread's coordinates, ((width, 1), 1, chunks)."""
    chunks = cute.size(tXcX, mode=[2])
    tXpX = cute.make_rmem_tensor(cute.make_layout((1, 1, chunks)), cutlass.Boolean)
    for j in cutlass.range_constexpr(chunks):
        tXpX[0, 0, j] = tXcX[(0, 0), 0, j][1] < columns
    return tXpX
