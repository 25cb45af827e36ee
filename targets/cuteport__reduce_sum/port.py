"""CuTe DSL port of `reduce_sum`."""

# CUDA: reduce_sum.cu:10-39

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer, Uint32
from cutlass._mlir.dialects import arith, llvm
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


def idiv(a: Numeric, b: Numeric) -> Numeric:
    """a / b as in C, rounded towards zero; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        quotient = abs(a.value) // abs(b.value)
        return kind(quotient if (a.value < 0) == (b.value < 0) else -quotient)
    divide = arith.divsi if kind.signed else arith.divui
    return kind(divide(a.ir_value(), b.ir_value()))


@cute.kernel
def reduce_sum_kernel(
    g_in: cutlass.Pointer[Float32, gmem],
    g_out: cutlass.Pointer[Float32, gmem],
    n: Uint32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    gdimx, _, _ = grid_extent()
    sdata = cutlass.Pointer(cute.arch.get_dyn_smem(Float32, 16).llvm_ptr, dtype=Float32)
    tid = Uint32(tidx)
    i = Uint32(bidx) * (Uint32(bdimx) * 2) + tid
    grid_size = Uint32(bdimx) * 2 * Uint32(gdimx)
    sum_ = Float32(0.0)
    while i < n:
        sum_ = sum_ + g_in[Int64(i)]
        if i + Uint32(bdimx) < n:
            sum_ = sum_ + g_in[Int64(i + Uint32(bdimx))]
        i = i + grid_size
    sdata[Int32(tid)] = sum_
    cute.arch.sync_threads()
    s = Uint32(bdimx) // 2
    while s > 32:
        if tid < s:
            sum_ = sum_ + sdata[Int64(tid + s)]
            sdata[Int32(tid)] = sum_
        cute.arch.sync_threads()
        s = s >> 1
    if Int32(tid) < 32:
        sum_ = sum_ + sdata[Int32(tid) + 32]
        offset = Int32(16)
        while offset > 0:
            sum_ = sum_ + cute.arch.shuffle_sync_down(sum_, Uint32(offset))
            offset = idiv(offset, Int32(2))
        if Int32(tid) == 0:
            g_out[bidx] = sum_


@cute.jit
def reduce_sum_launch(
    g_in: cutlass.Pointer[Float32, gmem],
    g_out: cutlass.Pointer[Float32, gmem],
    n: Uint32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    reduce_sum_kernel(g_in, g_out, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_reduce_sum(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        reduce_sum_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Uint32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def reduce_sum(
    g_in: torch.Tensor | int | None,
    g_out: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 1024,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `reduce_sum` (reduce_sum.cu:10).

    The original's launch: grid (blocks, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_reduce_sum(axes(block))(
        device_pointer(g_in, Float32),
        device_pointer(g_out, Float32),
        Uint32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
