"""CuTe DSL port of `int_promotion_u8`."""

# CUDA: int_promotion_u8.cu:4-19

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Int16, Int32, Int8, Numeric, Pointer, Uint16, Uint8
from cutlass._mlir.dialects import arith, llvm
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
def int_promotion_u8_kernel(
    out: cutlass.Pointer[Uint8, gmem],
    x: cutlass.Pointer[Uint8, gmem],
    y: cutlass.Pointer[Int8, gmem],
    wide: cutlass.Pointer[Int16, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        a = x[i]
        b = y[i]
        # no wrap before the division
        average = Uint8(idiv(Int32(a) + 255, Int32(2)))
        # ~ of an int: the ones above bit 7 come in
        inverted = Uint8(~Int32(a) >> 1)
        a = Uint8(Int32(a) + 200)
        b = Int8(Int32(b) - 100)
        product = Int16(Int32(b) * 300)
        sum_ = Uint16(65535)
        sum_ = Uint16(Int32(sum_) + Int32(a))
        wide[i] = Int16(Int32(product) + Int32(sum_))
        out[i] = Uint8((Int32(average) ^ Int32(inverted)) + Int32(Int32(a) > Int32(b)) + Int32(Int32(a) == Int32(Uint8(b))) * 16)


@cute.jit
def int_promotion_u8_launch(
    out: cutlass.Pointer[Uint8, gmem],
    x: cutlass.Pointer[Uint8, gmem],
    y: cutlass.Pointer[Int8, gmem],
    wide: cutlass.Pointer[Int16, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    int_promotion_u8_kernel(out, x, y, wide, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_int_promotion_u8(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        int_promotion_u8_launch,
        device_pointer(16, Uint8),
        device_pointer(16, Uint8),
        device_pointer(16, Int8),
        device_pointer(16, Int16),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def int_promotion_u8(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    y: torch.Tensor | int | None,
    wide: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `int_promotion_u8` (int_promotion_u8.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_int_promotion_u8(axes(block))(
        device_pointer(out, Uint8),
        device_pointer(x, Uint8),
        device_pointer(y, Int8),
        device_pointer(wide, Int16),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
