"""CuTe DSL port of `dot_atomic`."""

# CUDA: dot_atomic.cu:10-22

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer, Uint32
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
warpSize = 32


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


@cute.kernel
def dot_atomic_kernel(
    result: cutlass.Pointer[Float32, gmem],
    a: cutlass.Pointer[Float32, gmem],
    b: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    gdimx, _, _ = grid_extent()
    acc = Float32(0.0)
    i = bidx * bdimx + tidx
    while i < n:
        acc = acc + a[i] * b[i]
        i = i + gdimx * bdimx
    o = Int32(16)
    while o > 0:
        acc = acc + cute.arch.shuffle_sync_down(acc, Uint32(o))
        o = o >> 1
    if tidx % warpSize == 0:
        cute.arch.atomic_add(result, acc)


@cute.jit
def dot_atomic_launch(
    result: cutlass.Pointer[Float32, gmem],
    a: cutlass.Pointer[Float32, gmem],
    b: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    dot_atomic_kernel(result, a, b, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_dot_atomic(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        dot_atomic_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def dot_atomic(
    result: torch.Tensor | int | None,
    a: torch.Tensor | int | None,
    b: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `dot_atomic` (dot_atomic.cu:10).

    The original's launch: grid ((1048576 < (256 * 528)) ? ((1048576 + 255) / 256) : 528, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (((n + 255) // 256) if n < 135168 else 528, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_dot_atomic(axes(block))(
        device_pointer(result, Float32),
        device_pointer(a, Float32),
        device_pointer(b, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
