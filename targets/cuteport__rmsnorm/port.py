"""CuTe DSL port of `rmsnorm<float, 4>`."""

# CUDA: rmsnorm.cu:27-69

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Array, Float32, Int32, Int64, Numeric, Pointer, Uint32
from cutlass._mlir.dialects import arith, llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
VEC = 4


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


def idiv(a: Numeric, b: Numeric) -> Numeric:
    """a / b as in C, rounded towards zero; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        quotient = abs(a.value) // abs(b.value)
        return kind(quotient if (a.value < 0) == (b.value < 0) else -quotient)
    divide = arith.divsi if kind.signed else arith.divui
    return kind(divide(a.ir_value(), b.ir_value()))


def ldg_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, aligned to `align` bytes, of memory nothing writes while the kernel runs."""
    v = p.load(count=count, alignment=align, is_invariant=True)
    return tuple(v[k] for k in range(count))


def load_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, which is aligned to `align` bytes."""
    v = p.load(count=count, alignment=align)
    return tuple(v[k] for k in range(count))


def store_vector(p: Pointer, values: tuple[Numeric, ...], align: int) -> None:
    """The scalars to p and on, which is aligned to `align` bytes."""
    v = Array(p.dtype, len(values))
    for k in range(len(values)):
        v[k] = values[k]
    p.store(v[0 : len(values)], alignment=align)


@cute.jit
def to_float(v):
    return v


@cute.jit
def from_float(v):
    return v


@cute.kernel
def rmsnorm_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    weight: cutlass.Pointer[Float32, gmem],
    eps: Float32,
    hidden: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    packs = idiv(hidden, Int32(VEC))
    x_row = x + Int64(bidx) * Int64(hidden)
    w_row = weight
    out_row = out + Int64(bidx) * Int64(hidden)
    acc = Float32(0.0)
    i = tidx
    while i < packs:
        p = cutlass.Array(Float32, 4)
        val_0, val_1, val_2, val_3 = ldg_vector(x_row + Int64(i) * 4, 4, 16)
        store_vector(p.data_ptr(), (val_0, val_1, val_2, val_3), 16)
        for j in cutlass.range(0, VEC, 1, unroll_full=True):
            f = to_float(p[j])
            acc = acc + f * f
        i = i + bdimx
    mask = Int32(16)
    while mask > 0:
        acc = acc + cute.arch.shuffle_sync_bfly(acc, mask)
        mask = mask >> 1
    warp_acc = cutlass.Array(cute.arch.alloc_smem(Float32, 32, 16).llvm_ptr, shape=32, dtype=Float32)
    s_scale = cutlass.Array(cute.arch.alloc_smem(Float32, 1, 16).llvm_ptr, shape=1, dtype=Float32)
    if tidx & 31 == 0:
        warp_acc[tidx >> 5] = acc
    cute.arch.sync_threads()
    if tidx == 0:
        total = Float32(0.0)
        for w in cutlass.range(0, (bdimx + 31) // 32, 1):
            total = total + warp_acc[w]
        s_scale[0] = cute.math.rsqrt(total / Float32(hidden) + eps)
    cute.arch.sync_threads()
    scale = s_scale[0]
    i_1 = tidx
    while i_1 < packs:
        p_1 = cutlass.Array(Float32, 4)
        val_0_1, val_1_1, val_2_1, val_3_1 = ldg_vector(x_row + Int64(i_1) * 4, 4, 16)
        store_vector(p_1.data_ptr(), (val_0_1, val_1_1, val_2_1, val_3_1), 16)
        w_1 = cutlass.Array(Float32, 4)
        val_0_2, val_1_2, val_2_2, val_3_2 = ldg_vector(w_row + Int64(i_1) * 4, 4, 16)
        store_vector(w_1.data_ptr(), (val_0_2, val_1_2, val_2_2, val_3_2), 16)
        r = cutlass.Array(Float32, 4)
        for j_1 in cutlass.range(0, VEC, 1, unroll_full=True):
            r[j_1] = from_float(to_float(p_1[j_1]) * scale * to_float(w_1[j_1]))
        val_0_3, val_1_3, val_2_3, val_3_3 = load_vector(r.data_ptr(), 4, 16)
        store_vector(out_row + Int64(i_1) * 4, (val_0_3, val_1_3, val_2_3, val_3_3), 16)
        i_1 = i_1 + bdimx


@cute.jit
def rmsnorm_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    weight: cutlass.Pointer[Float32, gmem],
    eps: Float32,
    hidden: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    rmsnorm_kernel(out, x, weight, eps, hidden).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_rmsnorm(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        rmsnorm_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Float32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def rmsnorm(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    weight: torch.Tensor | int | None,
    eps: float,
    hidden: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `rmsnorm<float, 4>` (rmsnorm.cu:27).

    The original's launch: grid (1024, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (1024, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_rmsnorm(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        device_pointer(weight, Float32),
        Float32(eps),
        Int32(hidden),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
