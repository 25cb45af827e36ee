"""CUDA's atomicAdd of half2 and bfloat162."""

from cutlass import Numeric, Pointer, Vector, cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import vector


def atomic_add_16x2(address: Pointer, x: Numeric, y: Numeric, scope: str = "gpu") -> tuple[Numeric, Numeric]:
    """Adds (x, y) to the pair at `address`, aligned to 4 bytes; the old pair."""
    kind = type(x)
    pair = vector.from_elements(ir.VectorType.get([2], kind.mlir_type), [x.ir_value(), y.ir_value()])
    old = Vector(cute.arch.atomic_add(address, pair, scope=scope), dtype=kind)
    return old[0], old[1]
