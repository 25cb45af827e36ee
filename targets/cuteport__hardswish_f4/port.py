"""CuTe DSL port of `hardswish_f4`."""

# CUDA: hardswish_f4.cu:12-27

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Array, Float32, Int32, Numeric, Pointer
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


def load_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, which is aligned to `align` bytes."""
    v = p.load(count=count, alignment=align)
    return tuple(v[k] for k in range(count))


def store_vector(p: Pointer, values: tuple[Numeric, ...], align: int) -> None:
    """The scalars to p and on, which is aligned to `align` bytes."""
    v = Array(p.dtype, len(values))
    for k in range(len(values)):
        v[k] = values[k]
    p.store(v[0 : len(values)], alignment=align)


@cute.kernel
def hardswish_f4_kernel(
    x: cutlass.Pointer[Float32, gmem],
    y: cutlass.Pointer[Float32, gmem],
    N: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    idx = (bidx * bdimx + tidx) * 4
    if idx + 3 < N:
        reg_x_x, reg_x_y, reg_x_z, reg_x_w = load_vector(x + idx, 4, 16)
        reg_y_x = reg_x_x * cute.arch.fmin(cute.arch.fmax(reg_x_x + 3.0, Float32(0.0)), Float32(6.0)) * 0.16666667
        reg_y_y = reg_x_y * cute.arch.fmin(cute.arch.fmax(reg_x_y + 3.0, Float32(0.0)), Float32(6.0)) * 0.16666667
        reg_y_z = reg_x_z * cute.arch.fmin(cute.arch.fmax(reg_x_z + 3.0, Float32(0.0)), Float32(6.0)) * 0.16666667
        reg_y_w = reg_x_w * cute.arch.fmin(cute.arch.fmax(reg_x_w + 3.0, Float32(0.0)), Float32(6.0)) * 0.16666667
        store_vector(y + idx, (reg_y_x, reg_y_y, reg_y_z, reg_y_w), 16)
    else:
        while idx < N:
            y[idx] = x[idx] * cute.arch.fmin(cute.arch.fmax(x[idx] + 3.0, Float32(0.0)), Float32(6.0)) * 0.16666667
            idx = idx + 1


@cute.jit
def hardswish_f4_launch(
    x: cutlass.Pointer[Float32, gmem],
    y: cutlass.Pointer[Float32, gmem],
    N: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    hardswish_f4_kernel(x, y, N).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_hardswish_f4(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        hardswish_f4_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def hardswish_f4(
    x: torch.Tensor | int | None,
    y: torch.Tensor | int | None,
    N: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `hardswish_f4` (hardswish_f4.cu:12).

    The original's launch: grid ((1000001 + (256 * 4) - 1) / (256 * 4), 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((N + 1023) // 1024, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_hardswish_f4(axes(block))(
        device_pointer(x, Float32),
        device_pointer(y, Float32),
        Int32(N),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
