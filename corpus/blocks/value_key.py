"""A value and its index as one integer, so that a maximum is an argmax. Traced.

    key     ordered value (16 or 32 bits, signed) | 65,535 - index (16 bits)      Int32 or Int64

Flipping the other bits of a negative float makes its bits count upwards like its values. The larger value
wins, and of equal ones the lower index. A NaN counts as -inf, and -0 as 0. NOTHING is below every key.

The largest key of a whole warp comes from one `redux` (32 bits) or two (64 bits: the value first, then the
index of those that have it), in place of five shuffles. Units: indices from 0 to 65,535.
Source of the technique: float bits as integers, as radix sorts take them (CUB).
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int16, Int32, Int64

from corpus.blocks.lane_reduce import lane_reduce

KEYS = {16: Int32, 32: Int64}  # by the bits of a value
NOTHING = {16: -(1 << 31), 32: -(1 << 63)}


@cute.jit
def pack_key(value, index, kind: cutlass.Constexpr):
    """The key of a value of type `kind` (bf16, fp16 or fp32) at an index."""
    held = kind(cute.arch.fmax(Float32(value), Float32(-float("inf"))) + 0.0)
    low = 0xFFFF - index
    if cutlass.const_expr(kind.width == 16):
        bits = Int32(held.bitcast(Int16))
        key = (bits ^ ((bits >> 15) & 0x7FFF)) << 16 | low
    else:
        bits = held.bitcast(Int32)
        key = Int64(bits ^ ((bits >> 31) & 0x7FFFFFFF)) << 32 | Int64(low)
    return key


@cute.jit
def key_value(key, kind: cutlass.Constexpr):
    """The value of a key, as Float32; `kind` is the type that it was packed as."""
    if cutlass.const_expr(kind.width == 16):
        bits = key >> 16
        value = Float32(Int16(bits ^ ((bits >> 15) & 0x7FFF)).bitcast(kind))
    else:
        bits = Int32(key >> 32)
        value = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).bitcast(Float32)
    return value


@cute.jit
def key_index(key):
    """The index of a key."""
    return 0xFFFF - (Int32(key) & 0xFFFF)


@cute.jit
def largest_key(key, lanes: cutlass.Constexpr):
    """The largest key of each group of `lanes` (a power of two up to 32), in all of its lanes."""
    if cutlass.const_expr(lanes < 32):
        key = lane_reduce(key, max, lanes)
    elif cutlass.const_expr(type(key) is Int32):
        key = cute.arch.warp_redux_sync(key, "max")
    else:
        high = Int32(key >> 32)
        most = cute.arch.warp_redux_sync(high, "max")
        low = cute.arch.warp_redux_sync(Int32(key) if high == most else Int32(-1), "max")
        key = Int64(most) << 32 | Int64(low)
    return key
