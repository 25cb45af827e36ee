"""CuTe DSL port of `float4_math`."""

# CUDA: float4_math.cu:11-20

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Array, Float32, Int32, Int64, Numeric, Pointer
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
def add(a_x, a_y, a_z, a_w, b_x, b_y, b_z, b_w):
    return a_x + b_x, a_y + b_y, a_z + b_z, a_w + b_w


@cute.jit
def mul(s, a_x, a_y, a_z, a_w):
    return s * a_x, s * a_y, s * a_z, s * a_w


@cute.jit
def dot(a_x, a_y, a_z, a_w, b_x, b_y, b_z, b_w):
    return a_x * b_x + a_y * b_y + a_z * b_z + a_w * b_w


@cute.kernel
def float4_math_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    sums: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        a_x, a_y, a_z, a_w = load_vector(x + Int64(i) * 4, 4, 16)
        x_1, y, z, w = mul(Float32(0.5), a_x, a_y, a_z, a_w)
        x_2, y_1, z_1, w_1 = add(x_1, y, z, w, Float32(1.0), Float32(2.0), Float32(3.0), Float32(4.0))
        b_x = x_2
        b_y = y_1
        b_z = z_1
        b_w = w_1
        b_w = a_x
        store_vector(out + Int64(i) * 4, (b_x, b_y, b_z, b_w), 16)
        store_vector(sums + Int64(i) * 2, (dot(a_x, a_y, a_z, a_w, b_x, b_y, b_z, b_w), a_x + a_y + a_z + a_w), 8)


@cute.jit
def float4_math_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    sums: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    float4_math_kernel(out, x, sums, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_float4_math(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        float4_math_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def float4_math(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    sums: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `float4_math` (float4_math.cu:11).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_float4_math(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        device_pointer(sums, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
