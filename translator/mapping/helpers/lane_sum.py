"""CUDA's sums of absolute differences over the lanes of 32-bit words."""

from cutlass import Int32, Uint32


def lane_sum(bits: int, signed: bool, a: Uint32, b: Uint32) -> Uint32:
    """Sum over the lanes of `bits` bits of |a - b|."""
    mask = Uint32((1 << bits) - 1)
    total = Int32(0)
    for at in range(0, 32, bits):
        x, y = (
            Int32(w << Uint32(32 - bits - at)) >> Int32(32 - bits)
            if signed
            else Int32((w >> Uint32(at)) & mask)
            for w in (a, b)
        )
        total = total + abs(x - y)
    return Uint32(total)
