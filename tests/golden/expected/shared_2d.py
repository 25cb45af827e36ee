"""CuTe DSL port of `shared_2d`."""

# CUDA: shared_2d.cu:4-18

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem


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
def shared_2d_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    tile = cutlass.Array(cute.arch.alloc_smem(Float32, 16 * 17, 16).llvm_ptr, shape=(16, 17), dtype=Float32)
    first = cutlass.Array(cute.arch.alloc_smem(Float32, 1, 16).llvm_ptr, shape=1, dtype=Float32)
    tx = tidx
    ty = tidy
    i = bidx * 256 + ty * 16 + tx
    tile[ty, tx] = x[i] if i < n else Float32(0.0)
    if tx == 0 and ty == 0:
        first[0] = tile[0, 0]
    cute.arch.sync_threads()
    row = tile.data_ptr() + tx * 17
    v = row[ty] + 2.0 * tile[0, 3] + first[0]
    if i < n:
        out[i] = v


@cute.jit
def shared_2d_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    shared_2d_kernel(out, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_shared_2d(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        shared_2d_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def shared_2d(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (16, 16, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `shared_2d` (shared_2d.cu:4).

    The original's launch: grid ((n + 255) / 256, 1, 1), block (16, 16, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 255) // 256, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_shared_2d(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
