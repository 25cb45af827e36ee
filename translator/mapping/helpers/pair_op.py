"""Arithmetic on a pair of halves as one packed instruction."""

from typing import Any

from cutlass import Numeric, Vector
from cutlass._mlir import ir
from cutlass._mlir.dialects import arith, vector


def pair_op(op: str, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Numeric, Numeric]:
    """(a[0] op b[0], a[1] op b[1]); `op` is add, sub or mul, all values of one 16-bit type."""
    kind = type(a[0])
    shape = ir.VectorType.get([2], kind.mlir_type)
    left = vector.from_elements(shape, [v.ir_value() for v in a])
    right = vector.from_elements(shape, [v.ir_value() for v in b])
    made = {"add": arith.addf, "sub": arith.subf, "mul": arith.mulf}[op](left, right)
    both = Vector(made, dtype=kind)
    return both[0], both[1]
