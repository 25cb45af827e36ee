"""CuTe DSL port of `struct_param`."""

# CUDA: struct_param.cu:11-20

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Float64, Int16, Int32, Int8, Numeric, Pointer
from cutlass._mlir.dialects import arith, llvm
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


def irem(a: Numeric, b: Numeric) -> Numeric:
    """a % b as in C, with the sign of a; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        rest = abs(a.value) % abs(b.value)
        return kind(rest if a.value >= 0 else -rest)
    remainder = arith.remsi if kind.signed else arith.remui
    return kind(remainder(a.ir_value(), b.ir_value()))


@cute.kernel
def struct_param_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    f_mode: Int8,
    f_gain: Float64,
    f_taps: Int16,
    f_coef_0: Float32,
    f_coef_1: Float32,
    f_coef_2: Float32,
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    f_coef = cutlass.Array(Float32, 3)
    f_coef[0] = f_coef_0
    f_coef[1] = f_coef_1
    f_coef[2] = f_coef_2
    i = bidx * bdimx + tidx
    if i < n:
        acc = Float64(0.0)
        for k in cutlass.range(0, Int32(f_taps), 1):
            acc = acc + Float64(f_coef[k] * x[irem(i + k, n)])
        # the thread's own copy
        f_gain = f_gain * 2.0
        out[i] = Float32(-acc * f_gain) if Int32(f_mode) < 0 else Float32(acc * f_gain)


@cute.jit
def struct_param_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    f_mode: Int8,
    f_gain: Float64,
    f_taps: Int16,
    f_coef_0: Float32,
    f_coef_1: Float32,
    f_coef_2: Float32,
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    struct_param_kernel(out, x, f_mode, f_gain, f_taps, f_coef_0, f_coef_1, f_coef_2, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_struct_param(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        struct_param_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int8(0),
        Float64(0),
        Int16(0),
        Float32(0),
        Float32(0),
        Float32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def struct_param(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    f_mode: int,
    f_gain: float,
    f_taps: int,
    f_coef_0: float,
    f_coef_1: float,
    f_coef_2: float,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `struct_param` (struct_param.cu:11).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_struct_param(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        Int8(f_mode),
        Float64(f_gain),
        Int16(f_taps),
        Float32(f_coef_0),
        Float32(f_coef_1),
        Float32(f_coef_2),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
