"""CuTe DSL port of `minmax_mixed`."""

# CUDA: minmax_mixed.cu:4-16

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Float64, Int32, Int64, Numeric, Pointer, Uint32
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
nv_fmax = cute.ffi(name="__nv_fmax", params_types=[Float64, Float64], return_type=Float64)
nv_fmin = cute.ffi(name="__nv_fmin", params_types=[Float64, Float64], return_type=Float64)


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


def runtime(x: Numeric) -> Numeric:
    """x as a value of the compiled kernel, in its own type."""
    return type(x)(x.ir_value())


@cute.kernel
def minmax_mixed_kernel(
    out: cutlass.Pointer[Float64, gmem],
    x: cutlass.Pointer[Int32, gmem],
    y: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        v = x[i]
        u = Uint32(7)
        r = Float64(min(v, Int32(3)) + max(v, Int32(-3)))
        r = r + Float64(min(Uint32(v), u) + max(runtime(u), Uint32(9)))
        r = r + Float64(max(Int64(v) * 5, Int64(-1000000000000)))
        r = r + (Float64(cute.arch.fmin(y[i], Float32(0.5)) + cute.arch.fmax(y[i], Float32(-0.5)) + cute.arch.fmin(y[i], Float32(2.0))) + Float64(nv_fmax(Float64(y[i]), Float64(0.1))))
        r = r + (Float64(min(v & 15, Int32(8))) + Float64(nv_fmin(Float64(1.0), Float64(v))) + Float64(abs(v >> 4)) + Float64(cute.math.abs(y[i])) + Float64(cute.math.abs(y[i])))
        out[i] = r


@cute.jit
def minmax_mixed_launch(
    out: cutlass.Pointer[Float64, gmem],
    x: cutlass.Pointer[Int32, gmem],
    y: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    minmax_mixed_kernel(out, x, y, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_minmax_mixed(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        minmax_mixed_launch,
        device_pointer(16, Float64),
        device_pointer(16, Int32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def minmax_mixed(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    y: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `minmax_mixed` (minmax_mixed.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_minmax_mixed(axes(block))(
        device_pointer(out, Float64),
        device_pointer(x, Int32),
        device_pointer(y, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
