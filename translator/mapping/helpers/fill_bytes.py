"""memset of a constant number of bytes."""

import cutlass
from cutlass import Int32, Pointer, Uint8


def fill_bytes(dst: Pointer, value: Int32, count: int) -> None:
    """Sets `count` bytes to the low byte of `value`."""
    target = cutlass.Pointer(dst, dtype=Uint8)
    byte = Uint8(value)
    for k in range(count):
        target[k] = byte
