"""One 32-bit register as two 16-bit values, the low half first, as CUDA lays out half2."""

from typing import Any

from cutlass import Numeric, Uint16, Uint32


def unpack_16x2(bits: Uint32, kind: Any) -> tuple[Numeric, Numeric]:
    """(x, y) of type `kind` (Float16 or BFloat16) from 32 bits."""
    return Uint16(bits).bitcast(kind), Uint16(bits >> Uint32(16)).bitcast(kind)
