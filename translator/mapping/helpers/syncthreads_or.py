"""CUDA's __syncthreads_or."""

from cutlass import Boolean, Int32
from cutlass._mlir.dialects import nvvm


def syncthreads_or(predicate: Boolean) -> Int32:
    """Block barrier; non-zero if the predicate is true in any threads."""
    return Int32(
        nvvm.barrier(reduction_op=nvvm.BarrierReduction.OR, reduction_predicate=Int32(predicate).ir_value())
    )
