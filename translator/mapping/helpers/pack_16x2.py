"""Two 16-bit values as one 32-bit register, the first in the low half, as CUDA lays out half2."""

from cutlass import Numeric, Uint16, Uint32


def pack_16x2(x: Numeric, y: Numeric) -> Uint32:
    """The bits of (x, y), each 16 bits wide."""
    return Uint32(x.bitcast(Uint16)) | (Uint32(y.bitcast(Uint16)) << Uint32(16))
