"""CuTe DSL port of `pointer_param`."""

# CUDA: pointer_param.cu:13-32

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Int32, Numeric, Pointer
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


@cute.jit
def sort2(p):
    if p[0] > p[1]:
        t = p[0]
        p[0] = p[1]
        (p + 1)[0] = t


@cute.kernel
def pointer_param_kernel(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    s = cutlass.Array(cute.arch.alloc_smem(Int32, 256, 16).llvm_ptr, shape=256, dtype=Int32)
    t = tidx
    i = bidx * bdimx + t
    local = cutlass.Array(Int32, 4)
    for k in cutlass.range(0, 4, 1):
        local[k] = x[i] >> 8 * k & 255 if i < n else Int32(0)
    sort2(local.data_ptr())
    sort2(local.data_ptr() + 2)
    sort2(local.data_ptr() + 1)
    s[2 * t] = local[1]
    s[2 * t + 1] = local[0]
    sort2(s.data_ptr() + 2 * t)
    if i < n:
        out[2 * i] = local[3] + 256 * s[2 * t]
        out[2 * i + 1] = local[2] + 256 * s[2 * t + 1]
        sort2(out + 2 * i)


@cute.jit
def pointer_param_launch(
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
    pointer_param_kernel(out, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_pointer_param(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        pointer_param_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def pointer_param(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `pointer_param` (pointer_param.cu:13).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_pointer_param(axes(block))(
        device_pointer(out, Int32),
        device_pointer(x, Int32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
