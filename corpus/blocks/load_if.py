"""A vector load with a predicate of the instruction, in place of a branch around it. Traced.

    setp p, exists        words of 0        @p ld.global.nc.v4.b32 {w0, w1, w2, w3}, [address]

A copy with a predicate is a branch to the compiler, which moves the conversions that follow into it, so that
the next load waits for the one before. This load is opaque: all loads of a thread can be under way together.
What does not exist costs no traffic, and its address may be anything.

Units: an access is 16, 32, 64 or 128 bits, on sm_100 also 256, aligned to its size; the memory is not written
while the kernel runs (`.nc`).
Source of the technique: predicated loads of CUTLASS's epilogues (arch/memory.h).
"""

import cutlass
import cutlass.cute as cute
from cutlass import Int16, Int32


@cute.jit
def load_if(tXgX: cute.Tensor, exists):
    """A thread's one access `tXgX` of global memory in registers; zeros where `exists` does not hold."""
    tXrX = cute.make_fragment_like(tXgX)
    bits = cute.size(tXgX) * tXgX.element_type.width
    word = Int32 if cutlass.const_expr(bits >= 32) else Int16
    count = bits // word.width
    rW = cute.make_tensor(cute.recast_ptr(tXrX.iterator, dtype=word), cute.make_layout(count))
    names = ["{$w" + str(k) + "}" for k in range(count)]
    vector = "{" + ", ".join(names) + "}" if cutlass.const_expr(count > 1) else names[0]
    size = f"b{word.width}" if cutlass.const_expr(count == 1) else f"v{count}.b32"
    zeros = " ".join(f"mov.b{word.width} {name}, 0;" for name in names)
    code = f"setp.ne.s32 p, {{$r1}}, 0; {zeros} @p ld.global.nc.{size} {vector}, [{{$r0}}];"
    loaded = cute.arch.inline_ptx(
        "{ .reg .pred p; " + code + " }",
        write_only_types=[word] * count,
        read_only_args=[tXgX.iterator, Int32(exists)],
    )
    for k in cutlass.range_constexpr(count):
        rW[k] = loaded[k] if cutlass.const_expr(count > 1) else loaded
    return tXrX
