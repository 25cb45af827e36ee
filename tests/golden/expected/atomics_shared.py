"""CuTe DSL port of `atomics_shared`."""

# CUDA: atomics_shared.cu:4-21

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Boolean, Int32, Numeric, Pointer, Uint32
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


@cute.kernel
def atomics_shared_kernel(
    out: cutlass.Pointer[Int32, gmem],
    count: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    taken = cutlass.Array(cute.arch.alloc_smem(Int32, 1, 16).llvm_ptr, shape=1, dtype=Int32)
    seen = cutlass.Array(cute.arch.alloc_smem(Uint32, 4, 16).llvm_ptr, shape=4, dtype=Uint32)
    t = tidx
    i = bidx * 128 + t
    if t == 0:
        taken[0] = Int32(0)
    if t < 4:
        seen[t] = Uint32(0)
    cute.arch.sync_threads()
    if x[i] > 0 if i < n else Boolean(False):
        slot = cute.arch.atomic_add(taken.data_ptr(), Int32(1))
        cute.arch.atomic_or(seen.data_ptr() + (slot >> 5), Uint32(1) << Uint32(slot & 31))
    cute.arch.sync_threads()
    if i < n:
        out[i] = Int32(cute.arch.popc(seen[t >> 5]))
    if t == 0:
        count[bidx] = cute.arch.atomic_exch(taken.data_ptr(), Int32(-1))


@cute.jit
def atomics_shared_launch(
    out: cutlass.Pointer[Int32, gmem],
    count: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    atomics_shared_kernel(out, count, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_atomics_shared(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        atomics_shared_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def atomics_shared(
    out: torch.Tensor | int | None,
    count: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `atomics_shared` (atomics_shared.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_atomics_shared(axes(block))(
        device_pointer(out, Int32),
        device_pointer(count, Int32),
        device_pointer(x, Int32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
