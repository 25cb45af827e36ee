"""CuTe DSL port of `sgemm_tiled`."""

# CUDA: sgemm_tiled.cu:17-70

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Boolean, Float32, Int32, Numeric, Pointer
from cutlass._mlir.dialects import arith
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
BM = 64
BN = 64
BK = 16
TM = 4
TN = 4


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


def idiv(a: Numeric, b: Numeric) -> Numeric:
    """a / b as in C, rounded towards zero; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        quotient = abs(a.value) // abs(b.value)
        return kind(quotient if (a.value < 0) == (b.value < 0) else -quotient)
    divide = arith.divsi if kind.signed else arith.divui
    return kind(divide(a.ir_value(), b.ir_value()))


def irem(a: Numeric, b: Numeric) -> Numeric:
    """a % b as in C, with the sign of a; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        rest = abs(a.value) % abs(b.value)
        return kind(rest if a.value >= 0 else -rest)
    remainder = arith.remsi if kind.signed else arith.remui
    return kind(remainder(a.ir_value(), b.ir_value()))


@cute.kernel
def sgemm_tiled_kernel(
    M: Int32,
    N: Int32,
    K: Int32,
    alpha: Float32,
    A: cutlass.Pointer[Float32, gmem],
    B: cutlass.Pointer[Float32, gmem],
    beta: Float32,
    C: cutlass.Pointer[Float32, gmem],
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    # +4: fewer bank conflicts when A is stored transposed
    As = cutlass.Array(cute.arch.alloc_smem(Float32, 16 * 68, 16).llvm_ptr, shape=(16, 68), dtype=Float32)
    Bs = cutlass.Array(cute.arch.alloc_smem(Float32, 16 * 64, 16).llvm_ptr, shape=(16, 64), dtype=Float32)
    tid = tidx
    tx = irem(tid, Int32(16))
    ty = idiv(tid, Int32(16))
    row0 = bidy * BM
    col0 = bidx * BN
    acc = cutlass.Array(Float32, (4, 4))
    acc[0, 0] = Float32(0.0)
    acc[0, 1] = Float32(0.0)
    acc[0, 2] = Float32(0.0)
    acc[0, 3] = Float32(0.0)
    acc[1, 0] = Float32(0.0)
    acc[1, 1] = Float32(0.0)
    acc[1, 2] = Float32(0.0)
    acc[1, 3] = Float32(0.0)
    acc[2, 0] = Float32(0.0)
    acc[2, 1] = Float32(0.0)
    acc[2, 2] = Float32(0.0)
    acc[2, 3] = Float32(0.0)
    acc[3, 0] = Float32(0.0)
    acc[3, 1] = Float32(0.0)
    acc[3, 2] = Float32(0.0)
    acc[3, 3] = Float32(0.0)
    for k0 in cutlass.range(0, K, 16):
        # 64 x 16 of A and 16 x 64 of B: four elements of each per thread
        for i in cutlass.range(0, 4, 1, unroll_full=True):
            e = tid + i * 256
            ar = idiv(e, Int32(BK))
            ac = irem(e, Int32(BK))
            br = idiv(e, Int32(BN))
            bc = irem(e, Int32(BN))
            As[ac, ar] = A[(row0 + ar) * K + k0 + ac] if row0 + ar < M and k0 + ac < K else Float32(0.0)
            Bs[br, bc] = B[(k0 + br) * N + col0 + bc] if k0 + br < K and col0 + bc < N else Float32(0.0)
        cute.arch.sync_threads()
        for k in cutlass.range(0, BK, 1, unroll_full=True):
            a = cutlass.Array(Float32, 4)
            b = cutlass.Array(Float32, 4)
            for i_1 in cutlass.range(0, TM, 1, unroll_full=True):
                a[i_1] = As[k, ty * TM + i_1]
            for j in cutlass.range(0, TN, 1, unroll_full=True):
                b[j] = Bs[k, tx * TN + j]
            for i_2 in cutlass.range(0, TM, 1, unroll_full=True):
                for j_1 in cutlass.range(0, TN, 1, unroll_full=True):
                    acc[i_2, j_1] = acc[i_2, j_1] + a[i_2] * b[j_1]
        cute.arch.sync_threads()
    i_3 = Int32(0)
    running = Boolean(True)
    while running and i_3 < TM:
        r = row0 + ty * TM + i_3
        if r >= M:
            running = Boolean(False)
        else:
            for j_2 in cutlass.range(0, TN, 1, unroll_full=True):
                c = col0 + tx * TN + j_2
                if c < N:
                    C[r * N + c] = alpha * acc[i_3, j_2] + beta * C[r * N + c]
        i_3 = i_3 + 1


@cute.jit
def sgemm_tiled_launch(
    M: Int32,
    N: Int32,
    K: Int32,
    alpha: Float32,
    A: cutlass.Pointer[Float32, gmem],
    B: cutlass.Pointer[Float32, gmem],
    beta: Float32,
    C: cutlass.Pointer[Float32, gmem],
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    sgemm_tiled_kernel(M, N, K, alpha, A, B, beta, C).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_sgemm_tiled(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        sgemm_tiled_launch,
        Int32(0),
        Int32(0),
        Int32(0),
        Float32(0),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Float32(0),
        device_pointer(16, Float32),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def sgemm_tiled(
    M: int,
    N: int,
    K: int,
    alpha: float,
    A: torch.Tensor | int | None,
    B: torch.Tensor | int | None,
    beta: float,
    C: torch.Tensor | int | None,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `sgemm_tiled` (sgemm_tiled.cu:17).

    The original's launch: grid ((N + 64 - 1) / 64, (M + 64 - 1) / 64, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((N + 63) // 64, (M + 63) // 64, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_sgemm_tiled(axes(block))(
        Int32(M),
        Int32(N),
        Int32(K),
        Float32(alpha),
        device_pointer(A, Float32),
        device_pointer(B, Float32),
        Float32(beta),
        device_pointer(C, Float32),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
