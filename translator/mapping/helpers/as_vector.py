"""Component values as one vector, to be stored with one access."""

from cutlass import Numeric, Vector
from cutlass._mlir import ir
from cutlass._mlir.dialects import vector


def as_vector(*parts: Numeric) -> Vector:
    """The vector (parts[0], parts[1], …); all of one type."""
    kind = type(parts[0])
    shape = ir.VectorType.get([len(parts)], kind.mlir_type)
    return Vector(vector.from_elements(shape, [p.ir_value() for p in parts]), dtype=kind)
