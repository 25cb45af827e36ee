"""CuTe DSL port of `select_loop`."""

# CUDA: select_loop.cu:3-10

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem


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


# A pinned level: at its default the DSL's assembler may get this loop wrong, as ptxas gets the original's.
@cute.kernel
def select_loop_kernel(
    values: cutlass.Pointer[Int32, gmem],
    sums: cutlass.Pointer[Int32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = cute.arch.block_dim()
    i = bidx * bdimx + tidx
    if i < n:
        v = values[i]
        sum_ = Int32(0)
        f = Float32(1.0)
        while f > 0.01:
            sum_ = sum_ + Int32(f < 0.3)
            f = f * 0.5
        for d in cutlass.range(v, -v, -3):
            sum_ = sum_ + (Int32(100) if d < 0 else Int32(1))
        sums[i] = sum_


@cute.jit
def select_loop_launch(
    values: cutlass.Pointer[Int32, gmem],
    sums: cutlass.Pointer[Int32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    select_loop_kernel(values, sums, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_select_loop(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        select_loop_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
        options="--opt-level 1",
    )


def select_loop(
    values: torch.Tensor | int | None,
    sums: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (32, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `select_loop` (select_loop.cu:3).

    The original's launch: grid ((n + 31) / 32, 1, 1), block (32, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 31) // 32, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_select_loop(axes(block))(
        device_pointer(values, Int32),
        device_pointer(sums, Int32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
