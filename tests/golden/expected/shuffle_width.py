"""CuTe DSL port of `shuffle_width`."""

# CUDA: shuffle_width.cu:4-22

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer, Uint32
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


@cute.kernel
def shuffle_width_kernel(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    fout: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    v = x[i] if i < n else Int32(0)
    r = Uint32(cute.arch.shuffle_sync(v, Int32(5), mask=0xFFFFFFFF, mask_and_clamp=((32 - 8) << 8) | 31))
    r = r ^ Uint32(cute.arch.shuffle_sync_up(v, Uint32(3), mask=0xFFFFFFFF, mask_and_clamp=(32 - 16) << 8)) << 1
    r = r ^ Uint32(cute.arch.shuffle_sync_down(v, Uint32(2), mask=0xFFFFFFFF, mask_and_clamp=((32 - 4) << 8) | 31)) << 2
    r = r ^ Uint32(cute.arch.shuffle_sync_bfly(v, Int32(1), mask=0xFFFFFFFF, mask_and_clamp=((32 - 2) << 8) | 31)) << 3
    r = r ^ Uint32(cute.arch.shuffle_sync(v, tidx + 7))
    wide = Int64(v) * 1048576
    r = r + Uint32(cute.arch.shuffle_sync_bfly(wide, Int32(16)) >> 20)
    f = Float32(v & 255) * 0.5
    d = Int32(8)
    while d > 0:
        f = f + cute.arch.shuffle_sync_down(f, Uint32(d), mask=0xFFFFFFFF, mask_and_clamp=((32 - 16) << 8) | 31)
        d = d >> 1
    if i < n:
        out[i] = Int32(r)
        fout[i] = f


@cute.jit
def shuffle_width_launch(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    fout: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    shuffle_width_kernel(out, x, fout, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_shuffle_width(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        shuffle_width_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def shuffle_width(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    fout: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `shuffle_width` (shuffle_width.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_shuffle_width(axes(block))(
        device_pointer(out, Int32),
        device_pointer(x, Int32),
        device_pointer(fout, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
