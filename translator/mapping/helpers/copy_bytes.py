"""memcpy of a constant number of bytes."""

import cutlass
from cutlass import Pointer, Uint8


def copy_bytes(dst: Pointer, src: Pointer, count: int) -> None:
    """Copies `count` bytes, all read before the first is written, so that the blocks may overlap."""
    source = cutlass.Pointer(src, dtype=Uint8)
    target = cutlass.Pointer(dst, dtype=Uint8)
    values = [source[k] for k in range(count)]
    for k, value in enumerate(values):
        target[k] = value
