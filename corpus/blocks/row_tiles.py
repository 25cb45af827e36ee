"""The tile of rows that a block works on, and which thread holds which of its elements (a TV layout). Traced.

`lanes` neighbouring threads share a row and take `width` neighbouring elements at a time, so that a warp's
access is one contiguous piece; `rows` rows make a block. With lanes = 4, width = 2, one row of 16 columns:

    column    0 1 2 3 4 5 6 7 | 8 9 ...            chunk 0 | chunk 1
    thread    0 0 1 1 2 2 3 3 | 0 0 ...

    thread-value layout of a chunk: ((lanes, rows), width) → (row, column), tile (rows, lanes · width)

A tile spans the whole row, rounded up to whole chunks; `in_bounds` says what of it exists. Units: elements.
Source of the technique: tiled copies as in CUTLASS's elementwise examples and quack's row kernels.
"""

import cutlass
import cutlass.cute as cute


def row_tiles(element, columns: int, width: int, lanes: int, rows: int):
    """(tiled copy, tile shape): accesses of `width` elements; the tile is (rows, columns rounded up)."""
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), element, num_bits_per_copy=width * element.width)
    threads_values = cute.make_layout(((lanes, rows), width), stride=((rows * width, 1), rows))
    span = lanes * width
    return cute.make_tiled_copy(atom, threads_values, (rows, span)), (
        rows,
        (columns + span - 1) // span * span,
    )


@cute.jit
def in_bounds(tXcX: cute.Tensor, shape: cute.Shape):
    """A predicate for each access of a thread: whether its first element, and so all of it, is in `shape`.
    `tXcX` are the thread's coordinates, ((width, 1), 1, chunks)."""
    chunks = cute.size(tXcX, mode=[2])
    tXpX = cute.make_rmem_tensor(cute.make_layout((1, 1, chunks)), cutlass.Boolean)
    for j in cutlass.range_constexpr(chunks):
        tXpX[0, 0, j] = cute.elem_less(tXcX[(0, 0), 0, j], shape)
    return tXpX
