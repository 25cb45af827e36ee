"""CuTe DSL port of `argmax_rows`."""

# CUDA: argmax_rows.cu:31-60

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer, Uint32, Uint8
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


@cute.jit
def better(a_val, a_idx, b_val, b_idx):
    return a_val > b_val or a_val == b_val and a_idx < b_idx


@cute.jit
def warp_best(p_val, p_idx):
    mask = Int32(16)
    while mask >= 1:
        other_val = cute.arch.shuffle_sync_bfly(p_val, mask)
        other_idx = cute.arch.shuffle_sync_bfly(p_idx, mask)
        if better(other_val, other_idx, p_val, p_idx):
            p_val = other_val
            p_idx = other_idx
        mask = idiv(mask, Int32(2))
    return p_val, p_idx


@cute.kernel
def argmax_rows_kernel(
    m: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    cols: Int32,
    best_col: cutlass.Pointer[Int32, gmem],
    best_val: cutlass.Pointer[Float32, gmem],
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    gdimx, _, _ = grid_extent()
    warp_pairs = cutlass.Array(cute.arch.alloc_smem(Uint32, 64, 16).llvm_ptr, shape=64, dtype=Uint32)
    # a block may take several rows
    row = bidx
    while row < rows:
        p_val = Float32(-3.4028235e+38)
        p_idx = Int32(2147483647)
        c = tidx
        while c < cols:
            q_val = m[Int64(row) * Int64(cols) + Int64(c)]
            q_idx = c
            if better(q_val, q_idx, p_val, p_idx):
                p_val = q_val
                p_idx = q_idx
            c = c + bdimx
        val, idx = warp_best(p_val, p_idx)
        p_val = val
        p_idx = idx
        if tidx % 32 == 0:
            cutlass.Pointer(cutlass.Pointer(warp_pairs.data_ptr(), dtype=Uint8) + tidx // 32 * 8, dtype=Float32)[0] = p_val
            cutlass.Pointer(cutlass.Pointer(warp_pairs.data_ptr(), dtype=Uint8) + tidx // 32 * 8 + 4, dtype=Int32)[0] = p_idx
        cute.arch.sync_threads()
        if tidx < 32:
            none_val = Float32(-3.4028235e+38)
            none_idx = Int32(2147483647)
            val_1 = Float32(0.0)
            idx_1 = Int32(0)
            if tidx < bdimx // 32:
                val_2 = cutlass.Pointer(cutlass.Pointer(warp_pairs.data_ptr(), dtype=Uint8) + tidx * 8, dtype=Float32)[0]
                idx_2 = cutlass.Pointer(cutlass.Pointer(warp_pairs.data_ptr(), dtype=Uint8) + tidx * 8 + 4, dtype=Int32)[0]
                val_1 = val_2
                idx_1 = idx_2
            else:
                val_1 = none_val
                idx_1 = none_idx
            p_val = val_1
            p_idx = idx_1
            val_3, idx_3 = warp_best(p_val, p_idx)
            p_val = val_3
            p_idx = idx_3
            if tidx == 0:
                best_col[row] = p_idx
                best_val[row] = p_val
        cute.arch.sync_threads()
        row = row + gdimx


@cute.jit
def argmax_rows_launch(
    m: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    cols: Int32,
    best_col: cutlass.Pointer[Int32, gmem],
    best_val: cutlass.Pointer[Float32, gmem],
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    argmax_rows_kernel(m, rows, cols, best_col, best_val).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_argmax_rows(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        argmax_rows_launch,
        device_pointer(16, Float32),
        Int32(0),
        Int32(0),
        device_pointer(16, Int32),
        device_pointer(16, Float32),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def argmax_rows(
    m: torch.Tensor | int | None,
    rows: int,
    cols: int,
    best_col: torch.Tensor | int | None,
    best_val: torch.Tensor | int | None,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `argmax_rows` (argmax_rows.cu:31).

    The original's launch: grid (300, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (rows, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_argmax_rows(axes(block))(
        device_pointer(m, Float32),
        Int32(rows),
        Int32(cols),
        device_pointer(best_col, Int32),
        device_pointer(best_val, Float32),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
