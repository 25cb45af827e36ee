"""CuTe DSL port of `row_pointer`."""

# CUDA: row_pointer.cu:3-19

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer, Uint32
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


def opaque_pointer(p: Pointer) -> Pointer:
    """p; without it, a pointer used once in a loop is added up anew, in 64 bits, for every element."""
    if p.space != AddressSpace.gmem:
        return p
    text = "mov.b64 {$w0}, {$r0};"
    address = cute.arch.inline_ptx(text, write_only_types=[Int64], read_only_args=[p.toint()])
    return Pointer(cute.make_ptr(p.dtype, address, p.space).llvm_ptr, dtype=p.dtype)


@cute.kernel
def row_pointer_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    scale: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    cols: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row = bidx
    if row < rows:
        in_row = opaque_pointer(x + Int64(row) * Int64(cols))
        out_row = out + Int64(row) * Int64(cols)
        for c_round in cutlass.range(0, idiv(cols - tidx + 31, Int32(32)), 1):
            c = tidx + c_round * 32
            out_row[c] = in_row[c] * scale[c]
        if Uint32(tidx) < Uint32(cols):
            column = opaque_pointer(x + tidx)
            sum_ = Float32(0.0)
            for r in cutlass.range(0, rows, 1):
                sum_ = sum_ + column[r * cols]
            # a second use of `out_row`, with an index of its own
            out_row[tidx] = out_row[tidx] + sum_


@cute.jit
def row_pointer_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    scale: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    cols: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    row_pointer_kernel(out, x, scale, rows, cols).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_row_pointer(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        row_pointer_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def row_pointer(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    scale: torch.Tensor | int | None,
    rows: int,
    cols: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (32, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `row_pointer` (row_pointer.cu:3).

    The original's launch: grid (rows, 1, 1), block (32, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (rows, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_row_pointer(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        device_pointer(scale, Float32),
        Int32(rows),
        Int32(cols),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
