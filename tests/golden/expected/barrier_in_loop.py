"""CuTe DSL port of `barrier_in_loop`."""

# CUDA: barrier_in_loop.cu:18-30

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Int32, Numeric, Pointer
from cutlass._mlir.dialects import arith, llvm
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


@cute.jit
def block_sum(s, t, v):
    s[t] = v
    cute.arch.sync_threads()
    d = Int32(64)
    while d > 0:
        if t < d:
            s[t] = s[t] + s[t + d]
        cute.arch.sync_threads()
        d = d >> 1
    r = s[0]
    cute.arch.sync_threads()
    return r


@cute.kernel
def barrier_in_loop_kernel(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    rows: Int32,
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    gdimx, _, _ = grid_extent()
    s = cutlass.Array(cute.arch.alloc_smem(Int32, 128, 16).llvm_ptr, shape=128, dtype=Int32)
    t = tidx
    r = bidx
    while r < rows:
        acc = Int32(0)
        for c_round in cutlass.range(0, idiv(n - t + 127, Int32(128)), 1):
            c = t + c_round * 128
            acc = acc + (x[r * n + c] & 1023)
        total = block_sum(s.data_ptr(), t, acc)
        if t == 0:
            out[r] = total
        r = r + gdimx


@cute.jit
def barrier_in_loop_launch(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    rows: Int32,
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    barrier_in_loop_kernel(out, x, rows, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_barrier_in_loop(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        barrier_in_loop_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def barrier_in_loop(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    rows: int,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `barrier_in_loop` (barrier_in_loop.cu:18).

    The original's launch: grid (min(rows, 16), 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (min(rows, 16), 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_barrier_in_loop(axes(block))(
        device_pointer(out, Int32),
        device_pointer(x, Int32),
        Int32(rows),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
