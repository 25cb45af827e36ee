"""CUDA's __syncthreads_and."""

from cutlass import Boolean, Int32
from cutlass._mlir.dialects import nvvm


def syncthreads_and(predicate: Boolean) -> Int32:
    """Block barrier; non-zero if the predicate is true in all threads."""
    return Int32(
        nvvm.barrier(reduction_op=nvvm.BarrierReduction.AND, reduction_predicate=Int32(predicate).ir_value())
    )
