"""CuTe DSL port of `activation_switch`."""

# CUDA: activation_switch.cu:16-50

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Boolean, Float32, Int32, Numeric, Pointer
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
def activation_switch_kernel(
    in_ptr: cutlass.Pointer[Float32, gmem],
    out_ptr: cutlass.Pointer[Float32, gmem],
    n: Int32,
    act: Int32,
    slope: Float32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bdimx * bidx + tidx
    if i < n:
        x = in_ptr[i]
        scale = Float32(1.0)
        fall = Boolean(False)
        if act == 1:
            slope = Float32(0.0)
            fall = Boolean(True)
        if fall or act == 2:
            x = x if x > 0.0 else slope * x
            fall = Boolean(False)
        if fall or act == 4:
            scale = x
            fall = Boolean(True)
        if fall or act == 3:
            x = scale / (1.0 + cute.math.exp(-x))
            fall = Boolean(False)
        if fall or act == 5:
            x = cute.math.tanh(x)
            fall = Boolean(False)
        if fall or act == 6:
            if x < 0.0:
                x = slope * cute.math.expm1(x)
            fall = Boolean(False)
        if fall or act != 1 and act != 2 and act != 4 and act != 3 and act != 5 and act != 6:
            pass
        out_ptr[i] = x


@cute.jit
def activation_switch_launch(
    in_ptr: cutlass.Pointer[Float32, gmem],
    out_ptr: cutlass.Pointer[Float32, gmem],
    n: Int32,
    act: Int32,
    slope: Float32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    activation_switch_kernel(in_ptr, out_ptr, n, act, slope).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_activation_switch(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        activation_switch_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        Int32(0),
        Float32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def activation_switch(
    in_ptr: torch.Tensor | int | None,
    out_ptr: torch.Tensor | int | None,
    n: int,
    act: int,
    slope: float,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `activation_switch` (activation_switch.cu:16).

    The original's launch: grid ((1048576 + 255) / 256, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 255) // 256, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_activation_switch(axes(block))(
        device_pointer(in_ptr, Float32),
        device_pointer(out_ptr, Float32),
        Int32(n),
        Int32(act),
        Float32(slope),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
