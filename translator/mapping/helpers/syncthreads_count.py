"""CUDA's __syncthreads_count."""

from cutlass import Boolean, Int32
from cutlass._mlir.dialects import nvvm


def syncthreads_count(predicate: Boolean) -> Int32:
    """Block barrier; the number of threads whose predicate is true."""
    return Int32(
        nvvm.barrier(reduction_op=nvvm.BarrierReduction.POPC, reduction_predicate=Int32(predicate).ir_value())
    )
