"""CuTe DSL port of `gather_rows`."""

# CUDA: gather_rows.cu:10-24

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer
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


def opaque_pointer(p: Pointer) -> Pointer:
    """p; without it, a pointer used once in a loop is added up anew, in 64 bits, for every element."""
    if p.space != AddressSpace.gmem:
        return p
    text = "mov.b64 {$w0}, {$r0};"
    address = cute.arch.inline_ptx(text, write_only_types=[Int64], read_only_args=[p.toint()])
    return Pointer(cute.make_ptr(p.dtype, address, p.space).llvm_ptr, dtype=p.dtype)


@cute.kernel
def gather_rows_kernel(
    table: cutlass.Pointer[Float32, gmem],
    idx: cutlass.Pointer[Int64, gmem],
    out: cutlass.Pointer[Float32, gmem],
    count: Int64,
    dim: Int64,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    gdimx, _, _ = grid_extent()
    i = Int64(bidx)
    while i < count:
        r = idx[i]
        dst = out + i * dim
        if r < 0:
            d = Int64(tidx)
            while d < dim:
                dst[d] = Float32(0.0)
                d = d + Int64(bdimx)
        else:
            src = opaque_pointer(table + r * dim)
            d_1 = Int64(tidx)
            while d_1 < dim:
                dst[d_1] = src[d_1]
                d_1 = d_1 + Int64(bdimx)
        i = i + Int64(gdimx)


@cute.jit
def gather_rows_launch(
    table: cutlass.Pointer[Float32, gmem],
    idx: cutlass.Pointer[Int64, gmem],
    out: cutlass.Pointer[Float32, gmem],
    count: Int64,
    dim: Int64,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    gather_rows_kernel(table, idx, out, count, dim).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_gather_rows(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        gather_rows_launch,
        device_pointer(16, Float32),
        device_pointer(16, Int64),
        device_pointer(16, Float32),
        Int64(0),
        Int64(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def gather_rows(
    table: torch.Tensor | int | None,
    idx: torch.Tensor | int | None,
    out: torch.Tensor | int | None,
    count: int,
    dim: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `gather_rows` (gather_rows.cu:10).

    The original's launch: grid ((4096 < 65535) ? 4096 : 65535, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (count if count < 65535 else 65535, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_gather_rows(axes(block))(
        device_pointer(table, Float32),
        device_pointer(idx, Int64),
        device_pointer(out, Float32),
        Int64(count),
        Int64(dim),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
