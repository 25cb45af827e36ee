"""CUDA's SIMD-in-a-register functions: bytes or half-words of 32-bit words, one at a time."""

from collections.abc import Callable

from cutlass import Int32, Uint32


def lanewise(op: Callable[..., Int32], bits: int, signed: bool, *words: Uint32) -> Uint32:
    """`op` on each lane of `bits` bits of the words, as Int32; its low bits are the lane of the result."""
    mask = Uint32((1 << bits) - 1)
    result = Uint32(0)
    for at in range(0, 32, bits):
        lanes = [
            Int32(w << Uint32(32 - bits - at)) >> Int32(32 - bits)
            if signed
            else Int32((w >> Uint32(at)) & mask)
            for w in words
        ]
        result = result | ((Uint32(op(*lanes)) & mask) << Uint32(at))
    return result
