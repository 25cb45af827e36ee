"""Which share of which row a thread has, so that scales in tiles are written in fewer pieces. Traced.

    tall 1      row 0:  0  1  2  3  4  5 …        units along the row: in each tile of scales (scale_place) a
                row 1:  n …                       warp writes 4 bytes of a sector of 32

    tall 8      row 0:  0  1 | 16 17 | 32 …       units along a tile's 4 groups (here of 2 units), then 8 rows
                row 1:  2  3 | 18 19 | 34 …       down: a warp writes fewer tiles, in each 8 rows, two
                  …                               of a sector: half as many sectors for as many scales
                row 7: 14 15 | 30 31 | 46 …

Reads and codes stay whole lines as long as the 4 groups of a tile are 128 bytes or more.
Units: shares of a row. Rows are padded to a multiple of `tall`, shares of a row to whole tiles of 4 groups.
Source of the technique: our own. 16,384 x 7,168 bf16 to NVFP4 in tiles went from 0.89 to 0.95 of a copy's
rate (H200, 2026-12-01, `tests.corpus.speed microscaling`).
"""

from cutlass import Int32


def scale_patch(unit, parts: int, wide: int, tall: int):
    """(row, share of it) for a unit (Uint32); `parts`: shares of a row, `wide`: shares of 4 groups."""
    if tall == 1:
        return Int32(unit // parts), Int32(unit % parts)
    patch, across = unit // (wide * tall), parts // wide
    row, part = patch // across * tall + unit // wide % tall, patch % across * wide + unit % wide
    return Int32(row), Int32(part)
