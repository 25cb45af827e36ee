"""CuTe DSL port of `int64_index`."""

# CUDA: int64_index.cu:6-15

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer, Uint64
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


@cute.kernel
def int64_index_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    where: cutlass.Pointer[Int64, gmem],
    n: Int64,
    pitch: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = Uint64(Int64(bidx)) * Uint64(Int64(bdimx)) + Uint64(Int64(tidx))
    if i < Uint64(n):
        w = where[Int64(i)] & 255
        back = n - 1 - Int64(i)
        at = Uint64(Int64(pitch)) * Uint64(w) % Uint64(n)
        p = x + n
        out[Int64(i)] = x[Int64(at)] + p[-1 - Int64(i)] * 2.0 + x[back] + Float32(Int64(pitch) * 1000000000 >> 32)


@cute.jit
def int64_index_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    where: cutlass.Pointer[Int64, gmem],
    n: Int64,
    pitch: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    int64_index_kernel(out, x, where, n, pitch).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_int64_index(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        int64_index_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Int64),
        Int64(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def int64_index(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    where: torch.Tensor | int | None,
    n: int,
    pitch: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `int64_index` (int64_index.cu:6).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_int64_index(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        device_pointer(where, Int64),
        Int64(n),
        Int32(pitch),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
