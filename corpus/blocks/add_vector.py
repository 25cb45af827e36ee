"""A vector of floats added to global memory by one instruction, each element atomically. Traced.

    fp32        1, 2 or 4 elements       red.global.add.f32            .v2.f32        .v4.f32
    bf16, fp16  1, 2, 4 or 8 elements    red.global.add.noftz.bf16     .bf16x2     .v2.bf16x2     .v4.bf16x2

No element gets lost, but a vector is no unit: others may add to some of its elements in between. Of additions
of several threads to one element the order is free, and so are the last bits. 16-bit sums are rounded at each
addition. Vectors above 32 bits, and bf16, need sm_90. Units: an access is aligned to its size.
Source of the technique: the PTX manual, vectors of red.
"""

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float16, Float32, Int16, Int32

ADDED = {BFloat16: "bf16", Float16: "f16", Float32: "f32"}


@cute.jit
def add_vector(gO: cute.Tensor, rX: cute.Tensor):
    """Add the elements of `rX` to those of `gO`, which are next to each other in global memory."""
    kind, size = rX.element_type, cute.size(rX)
    bits = size * kind.width
    word = kind if cutlass.const_expr(kind is Float32) else Int32 if cutlass.const_expr(bits >= 32) else Int16
    rW, count = cute.recast_tensor(rX, word), bits // word.width
    name = ADDED[kind] + ("x2" if cutlass.const_expr(word is Int32) else "")
    rounding = "" if cutlass.const_expr(kind is Float32) else ".noftz"
    many = f".v{count}" if cutlass.const_expr(count > 1) else ""
    values = ", ".join("{$r" + str(k + 1) + "}" for k in range(count))
    vector = "{" + values + "}" if cutlass.const_expr(count > 1) else values
    cute.arch.inline_ptx(
        f"red.relaxed.gpu.global.add{rounding}{many}.{name} [{{$r0}}], {vector};",
        read_only_args=[gO.iterator, *(rW[k] for k in range(count))],
    )
