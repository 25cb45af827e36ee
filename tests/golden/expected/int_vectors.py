"""CuTe DSL port of `int_vectors`."""

# CUDA: int_vectors.cu:4-16

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Array, Int16, Int32, Int64, Numeric, Pointer, Uint32, Uint8
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


@cute.kernel
def int_vectors_kernel(
    out: cutlass.Pointer[Uint32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    c: cutlass.Pointer[Uint8, gmem],
    s: cutlass.Pointer[Int16, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        v_x, v_y = load_vector(x + Int64(i) * 2, 2, 8)
        q_x, q_y, q_z, q_w = load_vector(c + Int64(i) * 4, 4, 4)
        q_x = Uint8(Int32(q_x) + 100)
        q_w = Uint8(Int32(q_y) - Int32(q_z))
        r_x = Uint32(v_x)
        r_y = Uint32(v_y)
        r_z = Uint32(v_x ^ v_y)
        r_w = Uint32(0)
        r_w = Uint32(Int32(q_x) | Int32(q_y) << 8 | Int32(q_z) << 16) | Uint32(q_w) << 24
        store_vector(out + Int64(i) * 4, (r_x, r_y, r_z, r_w), 16)
        store_vector(s + Int64(i) * 2, (Int16(v_x), Int16(v_y >> 16)), 4)


@cute.jit
def int_vectors_launch(
    out: cutlass.Pointer[Uint32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    c: cutlass.Pointer[Uint8, gmem],
    s: cutlass.Pointer[Int16, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    int_vectors_kernel(out, x, c, s, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_int_vectors(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        int_vectors_launch,
        device_pointer(16, Uint32),
        device_pointer(16, Int32),
        device_pointer(16, Uint8),
        device_pointer(16, Int16),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def int_vectors(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    c: torch.Tensor | int | None,
    s: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `int_vectors` (int_vectors.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_int_vectors(axes(block))(
        device_pointer(out, Uint32),
        device_pointer(x, Int32),
        device_pointer(c, Uint8),
        device_pointer(s, Int16),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
