"""CuTe DSL port of `macro_const`."""

# CUDA: macro_const.cu:17-25

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer
from cutlass._mlir.dialects import arith
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
BLOCK = 64
kBias = 0.125
kTaps = 4
SCALE = 0.33333334
OFFSET = 7.0
kSecond = 5.0


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
def macro_const_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * BLOCK + tidx
    if i < n:
        acc = Float32(kBias)
        for k in cutlass.range(0, kTaps, 1):
            acc = acc + x[irem(i + k, n)] * SCALE
        out[i] = acc + 128.0 + 3.0 + OFFSET + kSecond


@cute.jit
def macro_const_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    macro_const_kernel(out, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_macro_const(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        macro_const_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def macro_const(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (64, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `macro_const` (macro_const.cu:17).

    The original's launch: grid ((n + 64 - 1) / 64, 1, 1), block (64, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 63) // 64, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_macro_const(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
