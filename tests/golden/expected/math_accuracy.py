"""CuTe DSL port of `math_accuracy`."""

# CUDA: math_accuracy.cu:5-14

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
nv_fast_cosf = cute.ffi(name="__nv_fast_cosf", params_types=[Float32], return_type=Float32)
nv_fast_expf = cute.ffi(name="__nv_fast_expf", params_types=[Float32], return_type=Float32)
nv_fast_fdividef = cute.ffi(name="__nv_fast_fdividef", params_types=[Float32, Float32], return_type=Float32)
nv_fast_logf = cute.ffi(name="__nv_fast_logf", params_types=[Float32], return_type=Float32)
nv_fast_powf = cute.ffi(name="__nv_fast_powf", params_types=[Float32, Float32], return_type=Float32)
nv_fast_sinf = cute.ffi(name="__nv_fast_sinf", params_types=[Float32], return_type=Float32)
nv_fmodf = cute.ffi(name="__nv_fmodf", params_types=[Float32, Float32], return_type=Float32)
nv_frcp_rn = cute.ffi(name="__nv_frcp_rn", params_types=[Float32], return_type=Float32)
nv_frsqrt_rn = cute.ffi(name="__nv_frsqrt_rn", params_types=[Float32], return_type=Float32)
nv_hypotf = cute.ffi(name="__nv_hypotf", params_types=[Float32, Float32], return_type=Float32)
nv_saturatef = cute.ffi(name="__nv_saturatef", params_types=[Float32], return_type=Float32)


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
def math_accuracy_kernel(
    out: cutlass.Pointer[Float32, gmem],
    fast: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        v = x[i]
        a = cute.math.abs(v) + 0.5
        out[i] = cute.math.exp(v) + cute.math.log(a) + cute.math.sin(v) + cute.math.cos(v) + cute.math.pow(a, Float32(1.7)) + cute.math.tanh(v) + cute.math.erf(v) + cute.math.rsqrt(a) + cute.math.sqrt(a) + cute.math.log1p(a) + cute.math.expm1(v) + Float32(nv_fmodf(v, Float32(0.3))) + cute.math.copysign(a, v) + cute.math.cbrt(a) + cute.math.atan2(v, a) + cute.math.exp2(v) + cute.math.log2(a) + Float32(nv_hypotf(v, a))
        fast[i] = Float32(nv_fast_expf(v)) + Float32(nv_fast_logf(a)) + Float32(nv_fast_sinf(v)) + Float32(nv_fast_cosf(v)) + Float32(nv_fast_powf(a, Float32(1.7))) + Float32(nv_fast_fdividef(v, a)) + Float32(nv_frcp_rn(a)) + Float32(nv_frsqrt_rn(a)) + Float32(nv_saturatef(v))


@cute.jit
def math_accuracy_launch(
    out: cutlass.Pointer[Float32, gmem],
    fast: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    math_accuracy_kernel(out, fast, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_math_accuracy(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        math_accuracy_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def math_accuracy(
    out: torch.Tensor | int | None,
    fast: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `math_accuracy` (math_accuracy.cu:5).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_math_accuracy(axes(block))(
        device_pointer(out, Float32),
        device_pointer(fast, Float32),
        device_pointer(x, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
