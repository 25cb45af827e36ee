"""CuTe DSL port of `half_product`."""

# CUDA: half_product_tiled.cu:6-20

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float16, Float32, Int32, Numeric, Pointer
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
TILE = 16


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
def half_product_kernel(
    a: cutlass.Pointer[Float16, gmem],
    b: cutlass.Pointer[Float16, gmem],
    c: cutlass.Pointer[Float16, gmem],
    m: Int32,
    n: Int32,
    k: Int32,
):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    sa = cutlass.Array(cute.arch.alloc_smem(Float16, 16 * 16, 16).llvm_ptr, shape=(16, 16), dtype=Float16)
    sb = cutlass.Array(cute.arch.alloc_smem(Float16, 16 * 16, 16).llvm_ptr, shape=(16, 16), dtype=Float16)
    col = bidx * TILE + tidx
    row = bidy * TILE + tidy
    sum_ = Float32(0.0)
    for first in cutlass.range(0, k, 16):
        ak = first + tidx
        bk = first + tidy
        sa[tidy, tidx] = a[row * k + ak] if row < m and ak < k else Float16(Float32(0.0))
        sb[tidy, tidx] = b[bk * n + col] if bk < k and col < n else Float16(Float32(0.0))
        cute.arch.sync_threads()
        for i in cutlass.range(0, TILE, 1):
            sum_ = sum_ + Float32(sa[tidy, i]) * Float32(sb[i, tidx])
        cute.arch.sync_threads()
    if row < m and col < n:
        c[row * n + col] = Float16(sum_)


@cute.jit
def half_product_launch(
    a: cutlass.Pointer[Float16, gmem],
    b: cutlass.Pointer[Float16, gmem],
    c: cutlass.Pointer[Float16, gmem],
    m: Int32,
    n: Int32,
    k: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    half_product_kernel(a, b, c, m, n, k).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_half_product(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        half_product_launch,
        device_pointer(16, Float16),
        device_pointer(16, Float16),
        device_pointer(16, Float16),
        Int32(0),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def half_product(
    a: torch.Tensor | int | None,
    b: torch.Tensor | int | None,
    c: torch.Tensor | int | None,
    m: int,
    n: int,
    k: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (16, 16, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `half_product` (half_product_tiled.cu:6).

    The original's launch: grid ((1024 + 16 - 1) / 16, (1024 + 16 - 1) / 16, 1), block (16, 16, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 15) // 16, (m + 15) // 16, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_half_product(axes(block))(
        device_pointer(a, Float16),
        device_pointer(b, Float16),
        device_pointer(c, Float16),
        Int32(m),
        Int32(n),
        Int32(k),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
