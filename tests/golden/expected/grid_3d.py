"""CuTe DSL port of `grid_3d`."""

# CUDA: grid_3d.cu:4-13

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer, Uint32, Uint64
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


def grid_extent() -> tuple[Int32, Int32, Int32]:
    """gridDim; cute.arch.grid_dim() lets the compiler take its axes for less than 2^31 - 1, 65535, 65535."""
    read = "llvm.nvvm.read.ptx.sreg.nctaid"
    x, y, z = (llvm.call_intrinsic(Int32.mlir_type, f"{read}.{axis}", [], [], []) for axis in "xyz")
    return Int32(x), Int32(y), Int32(z)


@cute.kernel
def grid_3d_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    w: Int32,
    h: Int32,
    d: Int32,
):
    tidx, tidy, tidz = cute.arch.thread_idx()
    bidx, bidy, bidz = cute.arch.block_idx()
    bdimx, bdimy, bdimz = block_extent()
    gdimx, gdimy, gdimz = grid_extent()
    ix = bidx * bdimx + tidx
    iy = bidy * bdimy + tidy
    iz = bidz * bdimz + tidz
    if ix < w and iy < h and iz < d:
        at = (Uint64(Int64(iz)) * Uint64(Int64(h)) + Uint64(Int64(iy))) * Uint64(Int64(w)) + Uint64(Int64(ix))
        out[Int64(at)] = x[Int64(at)] + Float32(Uint32(gdimx) * 100) + Float32(Uint32(gdimy) * 10) + Float32(Uint32(gdimz)) + Float32(Uint32(tidx) ^ Uint32(tidy) ^ Uint32(tidz))


@cute.jit
def grid_3d_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    w: Int32,
    h: Int32,
    d: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    grid_3d_kernel(out, x, w, h, d).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_grid_3d(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        grid_3d_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def grid_3d(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    w: int,
    h: int,
    d: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (8, 4, 2),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `grid_3d` (grid_3d.cu:4).

    The original's launch: grid ((w + 8 - 1) / 8, (h + 4 - 1) / 4, (d + 2 - 1) / 2), block (8, 4, 2).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((w + 7) // 8, (h + 3) // 4, (d + 1) // 2)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_grid_3d(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        Int32(w),
        Int32(h),
        Int32(d),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
