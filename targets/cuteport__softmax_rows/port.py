"""CuTe DSL port of `softmax_rows`."""

# CUDA: softmax_rows.cu:31-67

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
FULL_MASK = 0xffffffff
WARP_SIZE = 32


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


def ldg(p: Pointer, i: Int32 | int) -> Numeric:
    """p[i], of memory that nothing writes while the kernel runs."""
    return (p + i).load(is_invariant=True)


def opaque_pointer(p: Pointer) -> Pointer:
    """p; without it, a pointer used once in a loop is added up anew, in 64 bits, for every element."""
    if p.space != AddressSpace.gmem:
        return p
    text = "mov.b64 {$w0}, {$r0};"
    address = cute.arch.inline_ptx(text, write_only_types=[Int64], read_only_args=[p.toint()])
    return Pointer(cute.make_ptr(p.dtype, address, p.space).llvm_ptr, dtype=p.dtype)


def runtime(x: Numeric) -> Numeric:
    """x as a value of the compiled kernel, in its own type."""
    return type(x)(x.ir_value())


@cute.jit
def warp_max(v):
    offset = Int32(16)
    while offset > 0:
        v = cute.arch.fmax(v, cute.arch.shuffle_sync_bfly(v, offset))
        offset = offset >> 1
    return v


@cute.jit
def warp_sum(v):
    offset = Int32(16)
    while offset > 0:
        v = v + cute.arch.shuffle_sync_bfly(v, offset)
        offset = offset >> 1
    return v


@cute.kernel
def softmax_rows_kernel(
    x: cutlass.Pointer[Float32, gmem],
    out: cutlass.Pointer[Float32, gmem],
    cols: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    partial = cutlass.Array(cute.arch.alloc_smem(Float32, 32, 16).llvm_ptr, shape=32, dtype=Float32)
    row = bidx
    lane = tidx % WARP_SIZE
    warp = tidx // WARP_SIZE
    warps = bdimx // WARP_SIZE
    row_in = x + Int64(row) * Int64(cols)
    row_out = opaque_pointer(out + Int64(row) * Int64(cols))
    # 1. the row's maximum
    m = Float32(-float("inf"))
    c = tidx
    while c < cols:
        m = cute.arch.fmax(m, ldg(row_in, c))
        c = c + bdimx
    m = warp_max(m)
    if lane == 0:
        partial[warp] = m
    cute.arch.sync_threads()
    m = partial[lane] if lane < warps else Float32(-float("inf"))
    m = warp_max(m)
    # partial is used again below
    cute.arch.sync_threads()
    # 2. the sum of the exponentials
    sum_ = Float32(0.0)
    c_1 = tidx
    while c_1 < cols:
        sum_ = sum_ + cute.math.exp(ldg(row_in, c_1) - m)
        c_1 = c_1 + bdimx
    sum_ = warp_sum(sum_)
    if lane == 0:
        partial[warp] = sum_
    cute.arch.sync_threads()
    sum_ = partial[lane] if lane < warps else Float32(0.0)
    sum_ = warp_sum(sum_)
    # 3. scale
    inv = runtime(Float32(1.0)) / sum_
    c_2 = tidx
    while c_2 < cols:
        row_out[c_2] = cute.math.exp(ldg(row_in, c_2) - m) * inv
        c_2 = c_2 + bdimx


@cute.jit
def softmax_rows_launch(
    x: cutlass.Pointer[Float32, gmem],
    out: cutlass.Pointer[Float32, gmem],
    cols: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    softmax_rows_kernel(x, out, cols).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_softmax_rows(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        softmax_rows_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def softmax_rows(
    x: torch.Tensor | int | None,
    out: torch.Tensor | int | None,
    cols: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `softmax_rows` (softmax_rows.cu:31).

    The original's launch: grid (512, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (512, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_softmax_rows(axes(block))(
        device_pointer(x, Float32),
        device_pointer(out, Float32),
        Int32(cols),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
