"""CuTe DSL port of `histogram256`."""

# CUDA: histogram256.cu:20-47

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Int32, Int64, Numeric, Pointer, Uint32, Uint8
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
NUM_BINS = 256


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


def load_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, which is aligned to `align` bytes."""
    v = p.load(count=count, alignment=align)
    return tuple(v[k] for k in range(count))


@cute.kernel
def histogram256_kernel(
    data: cutlass.Pointer[Uint8, gmem],
    bins: cutlass.Pointer[Uint32, gmem],
    n: Uint32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    gdimx, _, _ = grid_extent()
    local = cutlass.Array(cute.arch.alloc_smem(Uint32, 256, 16).llvm_ptr, shape=256, dtype=Uint32)
    b = tidx
    while b < NUM_BINS:
        local[b] = Uint32(0)
        b = b + bdimx
    cute.arch.sync_threads()
    tid = Uint32(bidx) * Uint32(bdimx) + Uint32(tidx)
    stride = Uint32(gdimx) * Uint32(bdimx)
    # four bytes per load; data comes from cudaMalloc, so it is aligned
    quads = data
    i = tid
    while i < n // 4:
        q_x, q_y, q_z, q_w = load_vector(quads + Int64(i) * 4, 4, 4)
        cute.arch.atomic_add(local.data_ptr() + Int32(q_x), Uint32(1))
        cute.arch.atomic_add(local.data_ptr() + Int32(q_y), Uint32(1))
        cute.arch.atomic_add(local.data_ptr() + Int32(q_z), Uint32(1))
        cute.arch.atomic_add(local.data_ptr() + Int32(q_w), Uint32(1))
        i = i + stride
    # the last n % 4 bytes
    if tid < n & 3:
        cute.arch.atomic_add(local.data_ptr() + Int32(data[Int64((n & Uint32(0xfffffffc)) + tid)]), Uint32(1))
    cute.arch.sync_threads()
    b_1 = tidx
    while b_1 < NUM_BINS:
        if local[b_1] != 0:
            cute.arch.atomic_add(bins + b_1, local[b_1])
        b_1 = b_1 + bdimx


@cute.jit
def histogram256_launch(
    data: cutlass.Pointer[Uint8, gmem],
    bins: cutlass.Pointer[Uint32, gmem],
    n: Uint32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    histogram256_kernel(data, bins, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_histogram256(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        histogram256_launch,
        device_pointer(16, Uint8),
        device_pointer(16, Uint32),
        Uint32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def histogram256(
    data: torch.Tensor | int | None,
    bins: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `histogram256` (histogram256.cu:20).

    The original's launch: grid (min((4194307 + 1023) / 1024, 1056), 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (min((n + 1023) // 1024, 1056), 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_histogram256(axes(block))(
        device_pointer(data, Uint8),
        device_pointer(bins, Uint32),
        Uint32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
