"""CUDA's blockDim, with the range that its values have."""

from cutlass import Int32
from cutlass._mlir.dialects import llvm


def block_extent() -> tuple[Int32, Int32, Int32]:
    """blockDim; cute.arch.block_dim() lets the compiler take its axes for less than 1024, 1024 and 64."""
    read = "llvm.nvvm.read.ptx.sreg.ntid"
    x, y, z = (llvm.call_intrinsic(Int32.mlir_type, f"{read}.{axis}", [], [], []) for axis in "xyz")
    return Int32(x), Int32(y), Int32(z)
