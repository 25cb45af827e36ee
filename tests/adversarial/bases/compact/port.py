"""Values of x that are not below zero, and where they stood, in the order in which threads come."""

import functools

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass import Constexpr, Float32, Int32

GMEM = cutlass.AddressSpace.gmem
FloatPtr = cutlass.Pointer[Float32, GMEM]
IntPtr = cutlass.Pointer[Int32, GMEM]


@cute.kernel
def compact_kernel(n: Int32, x: FloatPtr, kept: FloatPtr, at: IntPtr, count: IntPtr):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    d, _, _ = cute.arch.block_dim()
    i = b * d + t
    if i < n:
        if not x[i] < 0.0:
            k = cute.arch.atomic_add(count, Int32(1))
            kept[k] = x[i]
            at[k] = i


@cute.jit
def compact_launch(
    n: Int32, x: FloatPtr, kept: FloatPtr, at: IntPtr, count: IntPtr, blocks: Int32, block: Constexpr,
    stream: CUstream,
):  # fmt: skip
    compact_kernel(n, x, kept, at, count).launch(grid=(blocks, 1, 1), block=block, stream=stream)


def pointer(p, kind):
    return cute.runtime.make_ptr(kind, p if isinstance(p, int) else p.data_ptr(), GMEM, assumed_align=4)


@functools.cache
def compile_compact(block=(128, 1, 1)):
    floats, ints = pointer(16, Float32), pointer(16, Int32)
    return cute.compile(
        compact_launch, Int32(0), floats, floats, ints, ints, Int32(1), block, cute.runtime.make_fake_stream()
    )


def compact(n, x, kept, at, count, *, grid=None, block=(128, 1, 1), smem=0, stream=None):
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    blocks = Int32((n + block[0] - 1) // block[0] if grid is None else grid[0])
    floats, ints = (pointer(x, Float32), pointer(kept, Float32)), (pointer(at, Int32), pointer(count, Int32))
    compile_compact(block)(Int32(n), *floats, *ints, blocks, CUstream(stream))
