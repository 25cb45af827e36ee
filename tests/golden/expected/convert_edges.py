"""CuTe DSL port of `convert_edges`."""

# CUDA: convert_edges.cu:5-21

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Boolean, Float32, Float64, Int32, Int64, Numeric, Pointer, Uint32, Uint8
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
INFINITY = float("inf")


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
def convert_edges_kernel(
    out: cutlass.Pointer[Int32, gmem],
    fout: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    y: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        v = x[i]
        # rounds above 2^24
        f = Float32(v)
        # never negative
        g = Float32(Uint32(v))
        wide = Int64(v) * 3
        d = Float64(wide)
        back = Int32(d / 3.0)
        low = Uint8(v)
        q = y[i]
        inf = Float32(INFINITY) if q > 0.0 else Float32(-float("inf"))
        special = Int32(Boolean(cute.math.isnan(inf - inf))) + 2 * Int32(Boolean(cute.math.isinf(inf))) + 4 * Int32(inf > 3.4e+38) + 8 * Int32((q * 0.0).bitcast(Int32) < Int32(0))
        fout[i] = f * 0.5 + g + Float32(wide)
        out[i] = Int32(back == v) + 2 * Int32(Int32(f) == v) + Int32(low) * 4 + special * 4096


@cute.jit
def convert_edges_launch(
    out: cutlass.Pointer[Int32, gmem],
    fout: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    y: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    convert_edges_kernel(out, fout, x, y, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_convert_edges(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        convert_edges_launch,
        device_pointer(16, Int32),
        device_pointer(16, Float32),
        device_pointer(16, Int32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def convert_edges(
    out: torch.Tensor | int | None,
    fout: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    y: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `convert_edges` (convert_edges.cu:5).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_convert_edges(axes(block))(
        device_pointer(out, Int32),
        device_pointer(fout, Float32),
        device_pointer(x, Int32),
        device_pointer(y, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
