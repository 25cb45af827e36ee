"""CuTe DSL port of `bias_gelu`."""

# CUDA: bias_gelu.cu:23-40

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Array, BFloat16, Float16, Float32, Int32, Int64, Numeric, Pointer
from cutlass._mlir.dialects import arith, llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
kAlpha = 0.7978846
kBeta = 0.044715


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


def idiv(a: Numeric, b: Numeric) -> Numeric:
    """a / b as in C, rounded towards zero; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        quotient = abs(a.value) // abs(b.value)
        return kind(quotient if (a.value < 0) == (b.value < 0) else -quotient)
    divide = arith.divsi if kind.signed else arith.divui
    return kind(divide(a.ir_value(), b.ir_value()))


def load_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, which is aligned to `align` bytes."""
    v = p.load(count=count, alignment=align)
    return tuple(v[k] for k in range(count))


def store_vector(p: Pointer, values: tuple[Numeric, ...], align: int) -> None:
    """The scalars to p and on, which is aligned to `align` bytes."""
    v = Array(p.dtype, len(values))
    for k in range(len(values)):
        v[k] = values[k]
    p.store(v[0 : len(values)], alignment=align)


@cute.jit
def gelu(x):
    inner = kAlpha * (x + kBeta * x * x * x)
    return 0.5 * x * (1.0 + cute.math.tanh(inner))


@cute.kernel
def bias_gelu_kernel(
    x: cutlass.Pointer[BFloat16, gmem],
    bias: cutlass.Pointer[BFloat16, gmem],
    out: cutlass.Pointer[BFloat16, gmem],
    rows: Int32,
    cols: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    _, gdimy, _ = grid_extent()
    pairs = idiv(cols, Int32(2))
    p = bidx * bdimx + tidx
    if p < pairs:
        x2 = x
        out2 = out
        x_1, y = load_vector(bias + Int64(p) * 2, 2, 4)
        x_2, y_1 = Float32(x_1), Float32(y)
        b_x = x_2
        b_y = y_1
        r = bidy
        while r < rows:
            at = Int64(r) * Int64(pairs) + Int64(p)
            x_3, y_2 = load_vector(x2 + at * 2, 2, 4)
            x_4, y_3 = Float32(x_3), Float32(y_2)
            v_x = x_4
            v_y = y_3
            v_x = gelu(v_x + b_x)
            v_y = gelu(v_y + b_y)
            x_5, y_4 = BFloat16(v_x), BFloat16(v_y)
            store_vector(out2 + at * 2, (x_5, y_4), 4)
            r = r + gdimy


@cute.jit
def bias_gelu_launch(
    x: cutlass.Pointer[BFloat16, gmem],
    bias: cutlass.Pointer[BFloat16, gmem],
    out: cutlass.Pointer[BFloat16, gmem],
    rows: Int32,
    cols: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    bias_gelu_kernel(x, bias, out, rows, cols).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_bias_gelu(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        bias_gelu_launch,
        device_pointer(16, BFloat16),
        device_pointer(16, BFloat16),
        device_pointer(16, BFloat16),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def bias_gelu(
    x: torch.Tensor | int | None,
    bias: torch.Tensor | int | None,
    out: torch.Tensor | int | None,
    rows: int,
    cols: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `bias_gelu` (bias_gelu.cu:23).

    The original's launch: grid (((3072 / 2) + 127) / 128, min(4096, 1024), 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (((cols // 2) + 127) // 128, min(rows, 1024), 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_bias_gelu(axes(block))(
        device_pointer(x, BFloat16),
        device_pointer(bias, BFloat16),
        device_pointer(out, BFloat16),
        Int32(rows),
        Int32(cols),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
