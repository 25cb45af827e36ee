"""CuTe DSL port of `median3x3`."""

# CUDA: median3x3.cu:32-52

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem


def axes(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    """A grid or block size as three numbers."""
    x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1)[:3]
    return x, y, z


def block_extent() -> tuple[Int32, Int32, Int32]:
    """blockDim; cute.arch.block_dim() lets the compiler take its axes for less than 1024, 1024 and 64."""
    read = "llvm.nvvm.read.ptx.sreg.ntid"
    x, y, z = (llvm.call_intrinsic(Int32.mlir_type, f"{read}.{axis}", [], [], []) for axis in "xyz")
    return Int32(x), Int32(y), Int32(z)


def device_pointer(x: Any, kind: type[Numeric]) -> Pointer:
    """A CUDA tensor's memory, a raw device address, or None for null, as a pointer to `kind`."""
    if not isinstance(x, int) and x is not None and not x.is_cuda:
        raise ValueError("the kernel needs a tensor in GPU memory")
    address = 0 if x is None else x if isinstance(x, int) else x.data_ptr()
    return make_ptr(kind, address, AddressSpace.gmem, assumed_align=max(1, kind.width // 8))


# w: the nine values around (x, y), row by row
@cute.jit
def load_window(img, x, y, w, h, win):
    for dy in cutlass.range(-1, 2, 1):
        yy = min(max(y + dy, Int32(0)), h - 1)
        for dx in cutlass.range(-1, 2, 1):
            xx = min(max(x + dx, Int32(0)), w - 1)
            old_win = win
            win = win + 1
            old_win[0] = img[yy * w + xx]


@cute.jit
def order(a, b):
    lo = cute.arch.fmin(a[0], b[0])
    b[0] = cute.arch.fmax(a[0], b[0])
    a[0] = lo


@cute.jit
def order3(a, b, c):
    order(b, c)
    order(a, b)
    order(b, c)


@cute.kernel
def median3x3_kernel(
    img: cutlass.Pointer[Float32, gmem],
    out: cutlass.Pointer[Float32, gmem],
    w: Int32,
    h: Int32,
):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    bdimx, bdimy, _ = block_extent()
    x = bidx * bdimx + tidx
    y = bidy * bdimy + tidy
    if x < w and y < h:
        v = cutlass.Array(Float32, 9)
        load_window(img, x, y, w, h, v.data_ptr())
        # sort the three rows, then: the largest minimum, the median of the medians, the least maximum
        order3(v.data_ptr(), v.data_ptr() + 1, v.data_ptr() + 2)
        order3(v.data_ptr() + 3, v.data_ptr() + 4, v.data_ptr() + 5)
        order3(v.data_ptr() + 6, v.data_ptr() + 7, v.data_ptr() + 8)
        lo = cutlass.Array(Float32, 1)
        lo[0] = cute.arch.fmax(cute.arch.fmax(v[0], v[3]), v[6])
        hi = cutlass.Array(Float32, 1)
        hi[0] = cute.arch.fmin(cute.arch.fmin(v[2], v[5]), v[8])
        order3(v.data_ptr() + 1, v.data_ptr() + 4, v.data_ptr() + 7)
        mid = cutlass.Array(Float32, 1)
        mid[0] = v[4]
        order3(lo.data_ptr(), mid.data_ptr(), hi.data_ptr())
        out[y * w + x] = mid[0]


@cute.jit
def median3x3_launch(
    img: cutlass.Pointer[Float32, gmem],
    out: cutlass.Pointer[Float32, gmem],
    w: Int32,
    h: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    median3x3_kernel(img, out, w, h).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_median3x3(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        median3x3_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def median3x3(
    img: torch.Tensor | int | None,
    out: torch.Tensor | int | None,
    w: int,
    h: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (32, 8, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `median3x3` (median3x3.cu:32).

    The original's launch: grid ((1920 + 32 - 1) / 32, (1080 + 8 - 1) / 8, 1), block (32, 8, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((w + 31) // 32, (h + 7) // 8, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_median3x3(axes(block))(
        device_pointer(img, Float32),
        device_pointer(out, Float32),
        Int32(w),
        Int32(h),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
