"""CuTe DSL port of `rope_half2`."""

# CUDA: rope_half2.cu:13-34

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Array, Float16, Float32, Int32, Int64, Numeric, Pointer
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


def irem(a: Numeric, b: Numeric) -> Numeric:
    """a % b as in C, with the sign of a; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        rest = abs(a.value) % abs(b.value)
        return kind(rest if a.value >= 0 else -rest)
    remainder = arith.remsi if kind.signed else arith.remui
    return kind(remainder(a.ir_value(), b.ir_value()))


def ldg(p: Pointer, i: Int32 | int) -> Numeric:
    """p[i], of memory that nothing writes while the kernel runs."""
    return (p + i).load(is_invariant=True)


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


@cute.kernel
def rope_half2_kernel(
    qk: cutlass.Pointer[Float16, gmem],
    cos_tab: cutlass.Pointer[Float32, gmem],
    sin_tab: cutlass.Pointer[Float32, gmem],
    positions: cutlass.Pointer[Int32, gmem],
    heads: Int32,
    half_dim: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    token = bidx
    pos = ldg(positions, token)
    cos_row = cos_tab + pos * half_dim
    sin_row = sin_tab + pos * half_dim
    base = qk + Int64(token) * Int64(heads) * Int64(half_dim) * 2
    n = heads * half_dim
    i = tidx
    while i < n:
        d = irem(i, half_dim)
        c = (cos_row + d).load(is_invariant=True)
        s = (sin_row + d).load(is_invariant=True)
        x, y = load_vector(base + Int64(i) * 2, 2, 4)
        x_1, y_1 = Float32(x), Float32(y)
        v_x = x_1
        v_y = y_1
        r_x = v_x * c - v_y * s
        r_y = v_x * s + v_y * c
        x_2, y_2 = Float16(r_x), Float16(r_y)
        store_vector(base + Int64(i) * 2, (x_2, y_2), 4)
        i = i + bdimx


@cute.jit
def rope_half2_launch(
    qk: cutlass.Pointer[Float16, gmem],
    cos_tab: cutlass.Pointer[Float32, gmem],
    sin_tab: cutlass.Pointer[Float32, gmem],
    positions: cutlass.Pointer[Int32, gmem],
    heads: Int32,
    half_dim: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    rope_half2_kernel(qk, cos_tab, sin_tab, positions, heads, half_dim).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_rope_half2(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        rope_half2_launch,
        device_pointer(16, Float16),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Int32),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def rope_half2(
    qk: torch.Tensor | int | None,
    cos_tab: torch.Tensor | int | None,
    sin_tab: torch.Tensor | int | None,
    positions: torch.Tensor | int | None,
    heads: int,
    half_dim: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `rope_half2` (rope_half2.cu:13).

    The original's launch: grid (2048, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (2048, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_rope_half2(axes(block))(
        device_pointer(qk, Float16),
        device_pointer(cos_tab, Float32),
        device_pointer(sin_tab, Float32),
        device_pointer(positions, Int32),
        Int32(heads),
        Int32(half_dim),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
