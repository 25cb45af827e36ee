"""Where the scale of a group lies: by rows, or in the tiles that Blackwell's tensor cores read. Traced.

    rows       row · groups + group
    tiles      128 rows x 4 groups are 512 bytes, one tile after the other along the rows; inside, row r of 32
               has 16 bytes, 4 each for rows r, r + 32, r + 64, r + 96:

               byte 0 … 3      4 … 7       8 … 11      12 … 15
               row 0           row 32      row 64      row 96         group 0 1 2 3 each
               row 1           row 33      row 65      row 97

The tiles are cuBLAS's layout of block scales (CUTLASS's scale-factor atom), for scales of 16 and of 32
elements. Rows are padded to 128 and groups to 4. Units: scales, a byte each.
Source of the technique: cuBLAS's documentation of block scaling factors; CUTLASS's scale-factor atom.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Int64


def padded(count, whole: int, tiles):
    """`count` rounded up to a multiple of `whole` where the layout is that of tiles."""
    return (count + whole - 1) // whole * whole if tiles else count


@cute.jit
def scale_place(row, group, groups: cutlass.Constexpr, tiles: cutlass.Constexpr):
    """The place (Int64) of a scale; `groups` of a row, padded."""
    place = Int64(row) * groups + group
    if cutlass.const_expr(tiles):
        tile = Int64(row // 128) * (groups // 4) + group // 4
        place = tile * 512 + (row % 32 * 16 + row % 128 // 32 * 4 + group % 4)
    return place
