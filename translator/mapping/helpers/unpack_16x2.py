"""One 32-bit register as two 16-bit values, the low half first, as CUDA lays out half2."""

from typing import Any

from cutlass import Numeric, Uint32, Vector
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm


def unpack_16x2(bits: Uint32, kind: Any) -> tuple[Numeric, Numeric]:
    """(x, y) of type `kind` (Float16 or BFloat16) from 32 bits."""
    shape = ir.VectorType.get([2], kind.mlir_type)
    pair = Vector(llvm.bitcast(shape, bits.ir_value()), dtype=kind)
    return pair[0], pair[1]
