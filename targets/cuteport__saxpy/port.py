"""CuTe DSL port of `saxpy`."""

# CUDA: saxpy.cu:13-18

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
def saxpy_kernel(
    n: Int32,
    a: Float32,
    x: cutlass.Pointer[Float32, gmem],
    y: cutlass.Pointer[Float32, gmem],
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    gdimx, _, _ = grid_extent()
    stride = bdimx * gdimx
    i = bidx * bdimx + tidx
    while i < n:
        y[i] = a * x[i] + y[i]
        i = i + stride


@cute.jit
def saxpy_launch(
    n: Int32,
    a: Float32,
    x: cutlass.Pointer[Float32, gmem],
    y: cutlass.Pointer[Float32, gmem],
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    saxpy_kernel(n, a, x, y).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_saxpy(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        saxpy_launch,
        Int32(0),
        Float32(0),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def saxpy(
    n: int,
    a: float,
    x: torch.Tensor | int | None,
    y: torch.Tensor | int | None,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `saxpy` (saxpy.cu:13).

    The original's launch: grid (min((((argc > 1) ? atoi(argv[1]) : (1 << 20)) + 256 - 1) / 256, 1056), 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (min((n + 255) // 256, 1056), 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_saxpy(axes(block))(
        Int32(n),
        Float32(a),
        device_pointer(x, Float32),
        device_pointer(y, Float32),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
