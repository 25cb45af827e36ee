"""CuTe DSL port of `struct_ptr`."""

# CUDA: struct_ptr.cu:10-22

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer, Uint8
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
def struct_ptr_kernel(
    p: cutlass.Pointer[Uint8, gmem],
    q: cutlass.Pointer[Uint8, gmem],
    dt: Float32,
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        me = p + Int64(i) * 16
        cutlass.Pointer(me, dtype=Float32)[0] = cutlass.Pointer(me, dtype=Float32)[0] + cutlass.Pointer(me + 4, dtype=Float32)[0] * dt
        if cutlass.Pointer(me, dtype=Float32)[0] > cutlass.Pointer(q + Int64(i) * 16, dtype=Float32)[0]:
            id_ = cutlass.Pointer(me + 8, dtype=Int32)[0]
            x = cutlass.Pointer(q + Int64(i) * 16, dtype=Float32)[0]
            v = cutlass.Pointer(q + Int64(i) * 16 + 4, dtype=Float32)[0]
            id__1 = cutlass.Pointer(q + Int64(i) * 16 + 8, dtype=Int32)[0]
            alive = q[Int64(i) * 16 + 12]
            cutlass.Pointer(me, dtype=Float32)[0] = x
            cutlass.Pointer(me + 4, dtype=Float32)[0] = v
            cutlass.Pointer(me + 8, dtype=Int32)[0] = id__1
            me[12] = alive
            cutlass.Pointer(me + 8, dtype=Int32)[0] = id_
        p[Int64(i) * 16 + 12] = Uint8(Int32(p[Int64(i) * 16 + 12]) ^ 1)


@cute.jit
def struct_ptr_launch(
    p: cutlass.Pointer[Uint8, gmem],
    q: cutlass.Pointer[Uint8, gmem],
    dt: Float32,
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    struct_ptr_kernel(p, q, dt, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_struct_ptr(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        struct_ptr_launch,
        device_pointer(16, Uint8),
        device_pointer(16, Uint8),
        Float32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def struct_ptr(
    p: torch.Tensor | int | None,
    q: torch.Tensor | int | None,
    dt: float,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `struct_ptr` (struct_ptr.cu:10).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_struct_ptr(axes(block))(
        device_pointer(p, Uint8),
        device_pointer(q, Uint8),
        Float32(dt),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
