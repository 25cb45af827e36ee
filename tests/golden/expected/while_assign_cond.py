"""CuTe DSL port of `while_assign_cond`."""

# CUDA: while_assign_cond.cu:4-25

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Boolean, Int32, Numeric, Pointer, Uint32
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
nv_ffs = cute.ffi(name="__nv_ffs", params_types=[Int32], return_type=Int32)


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


@cute.kernel
def while_assign_cond_kernel(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        rest = Uint32(x[i])
        low = Int32(0)
        r = Int32(0)
        guard = Int32(0)
        running = Boolean(True)
        while running:
            low = Int32(rest & 7)
            both = low != 3
            if both:
                old_guard = guard
                guard = guard + 1
                both = old_guard < 10
            if not both:
                running = Boolean(False)
            else:
                rest = rest >> 1
                r = r + low
        bit = Uint32(0)
        running_1 = Boolean(True)
        while running_1:
            bit = Uint32(Int32(nv_ffs(Int32(rest))))
            if not (bit != 0 and guard < 20):
                running_1 = Boolean(False)
            else:
                rest = rest & rest - 1
                r = Int32(Uint32(r) + (bit << 4))
                guard = guard + 2
        running_2 = Boolean(True)
        while running_2:
            left = 3 - (guard & 3)
            if not left != 0:
                running_2 = Boolean(False)
            else:
                r = r + left * 1000
                guard = guard + 1
        out[i] = r * 4 + (guard & 3) + low


@cute.jit
def while_assign_cond_launch(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    while_assign_cond_kernel(out, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_while_assign_cond(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        while_assign_cond_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def while_assign_cond(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `while_assign_cond` (while_assign_cond.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_while_assign_cond(axes(block))(
        device_pointer(out, Int32),
        device_pointer(x, Int32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
