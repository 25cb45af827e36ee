"""CuTe DSL port of `transpose_padded`."""

# CUDA: transpose_padded.cu:11-30

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
TILE_DIM = 32


def axes(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    """A grid or block size as three numbers."""
    x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1)[:3]
    return x, y, z


def device_pointer(x: Any, kind: type[Numeric]) -> Pointer:
    """A CUDA tensor's memory, a raw device address, or None for null, as a pointer to `kind`."""
    if not isinstance(x, int) and x is not None and not x.is_cuda:
        raise ValueError("the kernel needs a tensor in GPU memory")
    address = 0 if x is None else x if isinstance(x, int) else x.data_ptr()
    return make_ptr(kind, address, AddressSpace.gmem, assumed_align=max(1, kind.width // 8))


@cute.kernel
def transpose_padded_kernel(
    odata: cutlass.Pointer[Float32, gmem],
    idata: cutlass.Pointer[Float32, gmem],
    width: Int32,
    height: Int32,
):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    tile = cutlass.Array(cute.arch.alloc_smem(Float32, 32 * 33, 16).llvm_ptr, shape=(32, 33), dtype=Float32)
    x = bidx * TILE_DIM + tidx
    y = bidy * TILE_DIM + tidy
    for j in cutlass.range(0, TILE_DIM, 8):
        if x < width and y + j < height:
            tile[Int64(tidy + j), tidx] = idata[(y + j) * width + x]
    cute.arch.sync_threads()
    # the block's place in the transposed matrix
    x = bidy * TILE_DIM + tidx
    y = bidx * TILE_DIM + tidy
    for j_1 in cutlass.range(0, TILE_DIM, 8):
        if x < height and y + j_1 < width:
            odata[(y + j_1) * height + x] = tile[tidx, Int64(tidy + j_1)]


@cute.jit
def transpose_padded_launch(
    odata: cutlass.Pointer[Float32, gmem],
    idata: cutlass.Pointer[Float32, gmem],
    width: Int32,
    height: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    transpose_padded_kernel(odata, idata, width, height).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_transpose_padded(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        transpose_padded_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def transpose_padded(
    odata: torch.Tensor | int | None,
    idata: torch.Tensor | int | None,
    width: int,
    height: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (32, 8, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `transpose_padded` (transpose_padded.cu:11).

    The original's launch: grid ((1023 + 32 - 1) / 32, (517 + 32 - 1) / 32, 1), block (32, 8, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((width + 31) // 32, (height + 31) // 32, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_transpose_padded(axes(block))(
        device_pointer(odata, Float32),
        device_pointer(idata, Float32),
        Int32(width),
        Int32(height),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
