"""CuTe DSL port of `volatile_spin`."""

# CUDA: volatile_spin.cu:4-25

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Boolean, Int32, Int64, Numeric, Pointer, Uint32
from cutlass._mlir.dialects import llvm, nvvm
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


def grid_extent() -> tuple[Int32, Int32, Int32]:
    """gridDim; cute.arch.grid_dim() lets the compiler take its axes for less than 2^31 - 1, 65535, 65535."""
    read = "llvm.nvvm.read.ptx.sreg.nctaid"
    x, y, z = (llvm.call_intrinsic(Int32.mlir_type, f"{read}.{axis}", [], [], []) for axis in "xyz")
    return Int32(x), Int32(y), Int32(z)


def threadfence(scope: str) -> None:
    """Orders all memory accesses of this thread for the threads in `scope`: cta, gpu or sys."""
    scopes = {"cta": nvvm.MemScopeKind.CTA, "gpu": nvvm.MemScopeKind.GPU, "sys": nvvm.MemScopeKind.SYS}
    nvvm.memory_barrier(scopes[scope])


@cute.kernel
def volatile_spin_kernel(
    out: cutlass.Pointer[Int32, gmem],
    partial: cutlass.Pointer[Int32, gmem],
    ticket: cutlass.Pointer[Uint32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    gdimx, _, _ = grid_extent()
    sum_ = cutlass.Array(cute.arch.alloc_smem(Int32, 1, 16).llvm_ptr, shape=1, dtype=Int32)
    last = cutlass.Array(cute.arch.alloc_smem(Boolean, 1, 16).llvm_ptr, shape=1, dtype=Boolean)
    i = bidx * bdimx + tidx
    if tidx == 0:
        sum_[0] = Int32(0)
    cute.arch.sync_threads()
    if i < n:
        cute.arch.atomic_add(sum_.data_ptr(), x[i] & 1023)
    cute.arch.sync_threads()
    if tidx == 0:
        (partial + bidx).store(sum_[0], is_volatile=True)
        threadfence("gpu")
        last[0] = Int32(cute.arch.atomic_add(ticket, Uint32(1))) == gdimx - 1
    cute.arch.sync_threads()
    if last[0] and tidx == 0:
        total = Int32(0)
        b = Uint32(0)
        while b < Uint32(gdimx):
            total = total + (partial + Int64(b)).load(is_volatile=True)
            b = b + 1
        out[0] = total


@cute.jit
def volatile_spin_launch(
    out: cutlass.Pointer[Int32, gmem],
    partial: cutlass.Pointer[Int32, gmem],
    ticket: cutlass.Pointer[Uint32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    volatile_spin_kernel(out, partial, ticket, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_volatile_spin(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        volatile_spin_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        device_pointer(16, Uint32),
        device_pointer(16, Int32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def volatile_spin(
    out: torch.Tensor | int | None,
    partial: torch.Tensor | int | None,
    ticket: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `volatile_spin` (volatile_spin.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_volatile_spin(axes(block))(
        device_pointer(out, Int32),
        device_pointer(partial, Int32),
        device_pointer(ticket, Uint32),
        device_pointer(x, Int32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
