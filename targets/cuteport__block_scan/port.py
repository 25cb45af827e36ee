"""CuTe DSL port of `block_scan`."""

# CUDA: block_scan.cu:21-54

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Int32, Numeric, Pointer, Uint32
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
SCAN_BLOCK = 512
WARPS = 16


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


@cute.jit
def warp_inclusive_scan(v, lane):
    d = Int32(1)
    while d < 32:
        up = cute.arch.shuffle_sync_up(v, Uint32(d))
        if lane >= d:
            v = v + up
        d = d << 1
    return v


@cute.kernel
def block_scan_kernel(
    d_in: cutlass.Pointer[Int32, gmem],
    d_out: cutlass.Pointer[Int32, gmem],
    d_sums: cutlass.Pointer[Int32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    warp_totals = cutlass.Array(cute.arch.alloc_smem(Int32, 16, 16).llvm_ptr, shape=16, dtype=Int32)
    gid = bidx * SCAN_BLOCK + tidx
    lane = tidx & 31
    wid = tidx >> 5
    v = Int32(0)
    if gid < n:
        v = d_in[gid]
    v = warp_inclusive_scan(v, lane)
    if lane == 31:
        warp_totals[wid] = v
    cute.arch.sync_threads()
    # the first warp scans the totals of all warps
    if wid == 0:
        t = warp_totals[lane] if lane < WARPS else Int32(0)
        t = warp_inclusive_scan(t, lane)
        if lane < WARPS:
            warp_totals[lane] = t
    cute.arch.sync_threads()
    if wid > 0:
        v = v + warp_totals[wid - 1]
    if gid < n:
        d_out[gid] = v
    if tidx == 511:
        d_sums[bidx] = v


@cute.jit
def block_scan_launch(
    d_in: cutlass.Pointer[Int32, gmem],
    d_out: cutlass.Pointer[Int32, gmem],
    d_sums: cutlass.Pointer[Int32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    block_scan_kernel(d_in, d_out, d_sums, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_block_scan(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        block_scan_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def block_scan(
    d_in: torch.Tensor | int | None,
    d_out: torch.Tensor | int | None,
    d_sums: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (512, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `block_scan` (block_scan.cu:21).

    The original's launch: grid ((100000 + 512 - 1) / 512, 1, 1), block (512, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 511) // 512, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_block_scan(axes(block))(
        device_pointer(d_in, Int32),
        device_pointer(d_out, Int32),
        device_pointer(d_sums, Int32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
