"""CuTe DSL port of `shared_struct`."""

# CUDA: shared_struct.cu:9-26

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer, Uint32, Uint8
from cutlass._mlir.dialects import arith
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


def idiv(a: Numeric, b: Numeric) -> Numeric:
    """a / b as in C, rounded towards zero; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        quotient = abs(a.value) // abs(b.value)
        return kind(quotient if (a.value < 0) == (b.value < 0) else -quotient)
    divide = arith.divsi if kind.signed else arith.divui
    return kind(divide(a.ir_value(), b.ir_value()))


@cute.kernel
def shared_struct_kernel(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    best = cutlass.Array(cute.arch.alloc_smem(Uint32, 256, 16).llvm_ptr, shape=256, dtype=Uint32)
    t = tidx
    i = bidx * 128 + t
    cutlass.Pointer(cutlass.Pointer(best.data_ptr(), dtype=Uint8) + t * 8, dtype=Float32)[0] = x[i] if i < n else Float32(-1e+30)
    cutlass.Pointer(cutlass.Pointer(best.data_ptr(), dtype=Uint8) + t * 8 + 4, dtype=Int32)[0] = i
    cute.arch.sync_threads()
    s = Int32(64)
    while s > 0:
        if t < s:
            other_key = cutlass.Pointer(cutlass.Pointer(best.data_ptr(), dtype=Uint8) + (t + s) * 8, dtype=Float32)[0]
            other_where = cutlass.Pointer(cutlass.Pointer(best.data_ptr(), dtype=Uint8) + (t + s) * 8 + 4, dtype=Int32)[0]
            if other_key > cutlass.Pointer(cutlass.Pointer(best.data_ptr(), dtype=Uint8) + t * 8, dtype=Float32)[0]:
                cutlass.Pointer(cutlass.Pointer(best.data_ptr(), dtype=Uint8) + t * 8, dtype=Float32)[0] = other_key
                cutlass.Pointer(cutlass.Pointer(best.data_ptr(), dtype=Uint8) + t * 8 + 4, dtype=Int32)[0] = other_where
        cute.arch.sync_threads()
        s = idiv(s, Int32(2))
    if i < n:
        out[i] = cutlass.Pointer(cutlass.Pointer(best.data_ptr(), dtype=Uint8) + 4, dtype=Int32)[0] - t


@cute.jit
def shared_struct_launch(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    shared_struct_kernel(out, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_shared_struct(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        shared_struct_launch,
        device_pointer(16, Int32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def shared_struct(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `shared_struct` (shared_struct.cu:9).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_shared_struct(axes(block))(
        device_pointer(out, Int32),
        device_pointer(x, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
