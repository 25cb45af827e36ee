"""out[r] = sum of x[r, :]."""

import functools

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass import Constexpr, Float32, Int32

GMEM = cutlass.AddressSpace.gmem
FloatPtr = cutlass.Pointer[Float32, GMEM]


@cute.kernel
def row_sum_kernel(cols: Int32, x: FloatPtr, out: FloatPtr):
    part = cute.arch.alloc_smem(Float32, 128)
    t, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    s = Float32(0)
    c = t
    while c < cols:
        s = s + x[row * cols + c]
        c = c + 128
    part[t] = s
    cute.arch.sync_threads()
    step = Int32(64)
    while step > 0:
        if t < step:
            part[t] = part[t] + part[t + step]
        cute.arch.sync_threads()
        step = step // 2
    if t == 0:
        out[row] = part[0]


@cute.jit
def row_sum_launch(cols: Int32, x: FloatPtr, out: FloatPtr, rows: Int32, block: Constexpr, stream: CUstream):
    row_sum_kernel(cols, x, out).launch(grid=(rows, 1, 1), block=block, stream=stream)


def pointer(p):
    return cute.runtime.make_ptr(Float32, p if isinstance(p, int) else p.data_ptr(), GMEM, assumed_align=4)


@functools.cache
def compile_row_sum(block=(128, 1, 1)):
    return cute.compile(
        row_sum_launch, Int32(0), pointer(16), pointer(16), Int32(1), block, cute.runtime.make_fake_stream()
    )


def row_sum(cols, x, out, *, grid=None, block=(128, 1, 1), smem=0, stream=None):
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_row_sum(block)(Int32(cols), pointer(x), pointer(out), Int32(grid[0]), CUstream(stream))
