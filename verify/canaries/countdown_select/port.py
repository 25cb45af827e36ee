"""CuTe DSL port of `countdown_select`."""

# CUDA: countdown_select.cu:2-6

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Int32, Numeric, Pointer
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


# CuTe DSL 4.8.1 makes wrong machine code of this kernel at --opt-level 3 and 2 for sm_90: of 187 it makes 5,
# where Python and the kernel's own PTX say 6263. It is right at --opt-level 1 and 0.
@cute.kernel
def countdown_select_kernel(
    values: cutlass.Pointer[Int32, gmem],
    sums: cutlass.Pointer[Int32, gmem],
):
    tidx, _, _ = cute.arch.thread_idx()
    v = values[tidx]
    sum_ = Int32(0)
    d = v
    while d > -v:
        if d < 0:
            sum_ = sum_ + 100
        else:
            sum_ = sum_ + 1
        d = d - 3
    sums[tidx] = sum_


@cute.jit
def countdown_select_launch(
    values: cutlass.Pointer[Int32, gmem],
    sums: cutlass.Pointer[Int32, gmem],
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    countdown_select_kernel(values, sums).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_countdown_select(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        countdown_select_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def countdown_select(
    values: torch.Tensor | int | None,
    sums: torch.Tensor | int | None,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (32, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `countdown_select` (countdown_select.cu:2).

    The original's launch: grid (1, 1, 1), block (32, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (1, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_countdown_select(axes(block))(
        device_pointer(values, Int32),
        device_pointer(sums, Int32),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
