"""Two 16-bit values as one 32-bit register, the first in the low half, as CUDA lays out half2."""

from cutlass import Numeric, Uint32
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm, vector


def pack_16x2(x: Numeric, y: Numeric) -> Uint32:
    """The bits of (x, y), both of one 16-bit type."""
    shape = ir.VectorType.get([2], type(x).mlir_type)
    pair = vector.from_elements(shape, [x.ir_value(), y.ir_value()])
    return Uint32(llvm.bitcast(Uint32.mlir_type, pair))
