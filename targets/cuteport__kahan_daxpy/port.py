"""CuTe DSL port of `kahan_daxpy`."""

# CUDA: kahan_daxpy.cu:16-26

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float64, Int32, Int64, Numeric, Pointer, Uint64
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
nv_dadd_rn = cute.ffi(name="__nv_dadd_rn", params_types=[Float64, Float64], return_type=Float64)
nv_dmul_rn = cute.ffi(name="__nv_dmul_rn", params_types=[Float64, Float64], return_type=Float64)
nv_dsub_rn = cute.ffi(name="__nv_dsub_rn", params_types=[Float64, Float64], return_type=Float64)


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


@cute.jit
def kahan_add(sum_, comp, term):
    y = Float64(nv_dsub_rn(term, comp[0]))
    t = Float64(nv_dadd_rn(sum_[0], y))
    comp[0] = Float64(nv_dsub_rn(Float64(nv_dsub_rn(t, sum_[0])), y))
    sum_[0] = t


@cute.kernel
def kahan_daxpy_kernel(
    n: Uint64,
    a: Float64,
    x: cutlass.Pointer[Float64, gmem],
    y: cutlass.Pointer[Float64, gmem],
    comp: cutlass.Pointer[Float64, gmem],
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    gdimx, _, _ = grid_extent()
    step = Uint64(Int64(gdimx)) * Uint64(Int64(bdimx))
    i = Uint64(Int64(bidx)) * Uint64(Int64(bdimx)) + Uint64(Int64(tidx))
    while i < n:
        s = cutlass.Array(Float64, 1)
        s[0] = y[Int64(i)]
        c = cutlass.Array(Float64, 1)
        c[0] = comp[Int64(i)]
        kahan_add(s.data_ptr(), c.data_ptr(), Float64(nv_dmul_rn(a, x[Int64(i)])))
        y[Int64(i)] = s[0]
        comp[Int64(i)] = c[0]
        i = i + step


@cute.jit
def kahan_daxpy_launch(
    n: Uint64,
    a: Float64,
    x: cutlass.Pointer[Float64, gmem],
    y: cutlass.Pointer[Float64, gmem],
    comp: cutlass.Pointer[Float64, gmem],
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    kahan_daxpy_kernel(n, a, x, y, comp).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_kahan_daxpy(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        kahan_daxpy_launch,
        Uint64(0),
        Float64(0),
        device_pointer(16, Float64),
        device_pointer(16, Float64),
        device_pointer(16, Float64),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def kahan_daxpy(
    n: int,
    a: float,
    x: torch.Tensor | int | None,
    y: torch.Tensor | int | None,
    comp: torch.Tensor | int | None,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `kahan_daxpy` (kahan_daxpy.cu:16).

    The original's launch: grid (2048, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (2048, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_kahan_daxpy(axes(block))(
        Uint64(n),
        Float64(a),
        device_pointer(x, Float64),
        device_pointer(y, Float64),
        device_pointer(comp, Float64),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
