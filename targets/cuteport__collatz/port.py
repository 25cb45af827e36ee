"""CuTe DSL port of `collatz`."""

# CUDA: collatz.cu:6-26

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Boolean, Int32, Int64, Numeric, Pointer, Uint64
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
def collatz_kernel(
    start: cutlass.Pointer[Int64, gmem],
    steps: cutlass.Pointer[Int32, gmem],
    peak: cutlass.Pointer[Uint64, gmem],
    n: Int32,
    limit: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        x = Uint64(start[i])
        top = x
        count = Int32(0)
        again = Boolean(True)
        while again:
            if x & 1 != 0:
                x = 3 * x + 1
            else:
                x = x >> 1
            if x > top:
                top = x
            count = count + 1
            again = count < limit and x > 1
        # negative: gave up
        steps[i] = count if x == 1 else -count
        peak[i] = top


@cute.jit
def collatz_launch(
    start: cutlass.Pointer[Int64, gmem],
    steps: cutlass.Pointer[Int32, gmem],
    peak: cutlass.Pointer[Uint64, gmem],
    n: Int32,
    limit: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    collatz_kernel(start, steps, peak, n, limit).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_collatz(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        collatz_launch,
        device_pointer(16, Int64),
        device_pointer(16, Int32),
        device_pointer(16, Uint64),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def collatz(
    start: torch.Tensor | int | None,
    steps: torch.Tensor | int | None,
    peak: torch.Tensor | int | None,
    n: int,
    limit: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `collatz` (collatz.cu:6).

    The original's launch: grid ((65536 + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_collatz(axes(block))(
        device_pointer(start, Int64),
        device_pointer(steps, Int32),
        device_pointer(peak, Uint64),
        Int32(n),
        Int32(limit),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
