"""CuTe DSL port of `quantize_int8`."""

# CUDA: quantize_int8.cu:18-56

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Array, Float32, Int32, Int64, Int8, Numeric, Pointer, Uint32
from cutlass._mlir.dialects import arith
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
nv_float2int_rn = cute.ffi(name="__nv_float2int_rn", params_types=[Float32], return_type=Int32)


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


def ldg_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, aligned to `align` bytes, of memory nothing writes while the kernel runs."""
    v = p.load(count=count, alignment=align, is_invariant=True)
    return tuple(v[k] for k in range(count))


def opaque_pointer(p: Pointer) -> Pointer:
    """p; without it, a pointer used once in a loop is added up anew, in 64 bits, for every element."""
    if p.space != AddressSpace.gmem:
        return p
    text = "mov.b64 {$w0}, {$r0};"
    address = cute.arch.inline_ptx(text, write_only_types=[Int64], read_only_args=[p.toint()])
    return Pointer(cute.make_ptr(p.dtype, address, p.space).llvm_ptr, dtype=p.dtype)


def store_vector(p: Pointer, values: tuple[Numeric, ...], align: int) -> None:
    """The scalars to p and on, which is aligned to `align` bytes."""
    v = Array(p.dtype, len(values))
    for k in range(len(values)):
        v[k] = values[k]
    p.store(v[0 : len(values)], alignment=align)


@cute.jit
def quantize_one(x, inv_scale):
    q = Int32(nv_float2int_rn(x * inv_scale))
    q = Int32(127) if q > 127 else q
    q = Int32(-127) if q < -127 else q
    return Int8(q)


@cute.kernel
def quantize_int8_kernel(
    x: cutlass.Pointer[Float32, gmem],
    q: cutlass.Pointer[Int8, gmem],
    scale: cutlass.Pointer[Float32, gmem],
    cols: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    warp_max = cutlass.Array(cute.arch.alloc_smem(Float32, 8, 16).llvm_ptr, shape=8, dtype=Float32)
    quads = cols >> 2
    in4 = x + Int64(bidx) * Int64(cols)
    out4 = opaque_pointer(q + Int64(bidx) * Int64(cols))
    m = Float32(0.0)
    for i_round in cutlass.range(0, idiv(quads - tidx + 255, Int32(256)), 1):
        i = tidx + i_round * 256
        v_x, v_y, v_z, v_w = ldg_vector(in4 + Int64(i) * 4, 4, 16)
        m = cute.arch.fmax(m, cute.arch.fmax(cute.arch.fmax(cute.math.abs(v_x), cute.math.abs(v_y)), cute.arch.fmax(cute.math.abs(v_z), cute.math.abs(v_w))))
    d = Int32(16)
    while d != 0:
        m = cute.arch.fmax(m, cute.arch.shuffle_sync_bfly(m, d))
        d = d >> 1
    if tidx & 31 == 0:
        warp_max[tidx >> 5] = m
    cute.arch.sync_threads()
    row_max = warp_max[0]
    for w in cutlass.range(1, 8, 1, unroll_full=True):
        row_max = cute.arch.fmax(row_max, warp_max[w])
    inv = 127.0 / row_max if row_max > 0.0 else Float32(0.0)
    if tidx == 0:
        scale[bidx] = row_max / 127.0
    for i_round_1 in cutlass.range(0, idiv(quads - tidx + 255, Int32(256)), 1):
        i_1 = tidx + i_round_1 * 256
        v_x_1, v_y_1, v_z_1, v_w_1 = ldg_vector(in4 + Int64(i_1) * 4, 4, 16)
        r_x = quantize_one(v_x_1, inv)
        r_y = quantize_one(v_y_1, inv)
        r_z = quantize_one(v_z_1, inv)
        r_w = quantize_one(v_w_1, inv)
        store_vector(out4 + Int64(i_1) * 4, (r_x, r_y, r_z, r_w), 4)


@cute.jit
def quantize_int8_launch(
    x: cutlass.Pointer[Float32, gmem],
    q: cutlass.Pointer[Int8, gmem],
    scale: cutlass.Pointer[Float32, gmem],
    cols: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    quantize_int8_kernel(x, q, scale, cols).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_quantize_int8(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        quantize_int8_launch,
        device_pointer(16, Float32),
        device_pointer(16, Int8),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def quantize_int8(
    x: torch.Tensor | int | None,
    q: torch.Tensor | int | None,
    scale: torch.Tensor | int | None,
    cols: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (256, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `quantize_int8` (quantize_int8.cu:18).

    The original's launch: grid (2048, 1, 1), block (256, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = (2048, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_quantize_int8(axes(block))(
        device_pointer(x, Float32),
        device_pointer(q, Int8),
        device_pointer(scale, Float32),
        Int32(cols),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
