"""out = a * x + y."""

import functools

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass import Constexpr, Float32, Int32

GMEM = cutlass.AddressSpace.gmem
FloatPtr = cutlass.Pointer[Float32, GMEM]


@cute.kernel
def axpy_kernel(n: Int32, a: Float32, x: FloatPtr, y: FloatPtr, out: FloatPtr):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    d, _, _ = cute.arch.block_dim()
    i = b * d + t
    if i < n:
        out[i] = a * x[i] + y[i]


@cute.jit
def axpy_launch(
    n: Int32, a: Float32, x: FloatPtr, y: FloatPtr, out: FloatPtr,
    blocks: Int32, block: Constexpr, smem: Int32, stream: CUstream,
):
    axpy_kernel(n, a, x, y, out).launch(grid=(blocks, 1, 1), block=block, smem=smem, stream=stream)


def pointer(p):
    return cute.runtime.make_ptr(Float32, p if isinstance(p, int) else p.data_ptr(), GMEM, assumed_align=4)


@functools.cache
def compile_axpy(block=(128, 1, 1)):
    return cute.compile(
        axpy_launch, Int32(0), Float32(0), pointer(16), pointer(16), pointer(16),
        Int32(1), block, Int32(0), cute.runtime.make_fake_stream(),
    )


def axpy(n, a, x, y, out, *, grid=None, block=(128, 1, 1), smem=0, stream=None):
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compiled = compile_axpy(block)
    compiled(
        Int32(n), Float32(a), pointer(x), pointer(y), pointer(out),
        Int32(grid[0]), Int32(smem), CUstream(stream)
    )
