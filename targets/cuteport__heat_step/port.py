"""CuTe DSL port of `heat_step`."""

# CUDA: heat_step.cu:12-38

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
TX = 32
TY = 8


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


def ldg(p: Pointer, i: Int32 | int) -> Numeric:
    """p[i], of memory that nothing writes while the kernel runs."""
    return (p + i).load(is_invariant=True)


def opaque(x: Int32) -> Int32:
    """x; without it, guards on different values of x become one chain of branches whose loads wait."""
    text = "mov.b32 {$w0}, {$r0};"
    return cute.arch.inline_ptx(text, write_only_types=[Int32], read_only_args=[x])


@cute.kernel
def heat_step_kernel(
    u: cutlass.Pointer[Float32, gmem],
    u_new: cutlass.Pointer[Float32, gmem],
    nx: Int32,
    ny: Int32,
    k: Float32,
):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    s = cutlass.Array(cute.arch.alloc_smem(Float32, 10 * 34, 16).llvm_ptr, shape=(10, 34), dtype=Float32)
    x = bidx * TX + tidx
    y = bidy * TY + tidy
    sx = tidx + 1
    sy = tidy + 1
    # threads outside of the plate load the nearest cell inside, which is just what the border wants
    cx = Int32(0) if x < 0 else (nx - 1 if x > nx - 1 else x)
    cy = Int32(0) if y < 0 else (ny - 1 if y > ny - 1 else y)
    s[sy, sx] = ldg(u, cy * nx + cx)
    if tidx == 0:
        s[sy, 0] = ldg(u, cy * nx + (Int32(0) if x - 1 < 0 else (nx - 1 if x - 1 > nx - 1 else x - 1)))
    if opaque(tidx) == 31:
        s[sy, 33] = ldg(u, cy * nx + (Int32(0) if x + 1 < 0 else (nx - 1 if x + 1 > nx - 1 else x + 1)))
    if tidy == 0:
        s[0, sx] = ldg(u, (Int32(0) if y - 1 < 0 else (ny - 1 if y - 1 > ny - 1 else y - 1)) * nx + cx)
    if opaque(tidy) == 7:
        s[9, sx] = ldg(u, (Int32(0) if y + 1 < 0 else (ny - 1 if y + 1 > ny - 1 else y + 1)) * nx + cx)
    cute.arch.sync_threads()
    if x < nx and y < ny:
        c = s[sy, sx]
        lap = s[sy, sx - 1] + s[sy, sx + 1] + s[sy - 1, sx] + s[sy + 1, sx] - 4.0 * c
        u_new[y * nx + x] = c + k * lap


@cute.jit
def heat_step_launch(
    u: cutlass.Pointer[Float32, gmem],
    u_new: cutlass.Pointer[Float32, gmem],
    nx: Int32,
    ny: Int32,
    k: Float32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    heat_step_kernel(u, u_new, nx, ny, k).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_heat_step(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        heat_step_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        Int32(0),
        Float32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def heat_step(
    u: torch.Tensor | int | None,
    u_new: torch.Tensor | int | None,
    nx: int,
    ny: int,
    k: float,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (32, 8, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `heat_step` (heat_step.cu:12).

    The original's launch: grid ((1000 + 32 - 1) / 32, (700 + 8 - 1) / 8, 1), block (32, 8, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((nx + 31) // 32, (ny + 7) // 8, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_heat_step(axes(block))(
        device_pointer(u, Float32),
        device_pointer(u_new, Float32),
        Int32(nx),
        Int32(ny),
        Float32(k),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
