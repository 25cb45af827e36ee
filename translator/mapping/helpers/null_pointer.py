"""nullptr, for a pointer variable that will later walk from another pointer."""

import cutlass
from cutlass import Numeric, Pointer, Uint8


def null_pointer(like: Pointer, kind: type[Numeric]) -> Pointer:
    """Address zero in the memory that `like` points into."""
    return cutlass.Pointer(cutlass.Pointer(like, dtype=Uint8) - like.toint(), dtype=kind)
