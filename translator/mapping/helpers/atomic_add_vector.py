"""CUDA's atomicAdd of float2 and float4."""

from cutlass import Float32, Pointer, Vector, cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import vector


def atomic_add_vector(address: Pointer, *parts: Float32, scope: str = "gpu") -> tuple[Float32, ...]:
    """Adds the components to those at `address`, aligned to their size; the old components."""
    shape = ir.VectorType.get([len(parts)], Float32.mlir_type)
    value = vector.from_elements(shape, [p.ir_value() for p in parts])
    old = Vector(cute.arch.atomic_add(address, value, scope=scope), dtype=Float32)
    return tuple(old[k] for k in range(len(parts)))
