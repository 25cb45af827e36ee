"""CuTe DSL port of `gated`: SwiGLU of rows of bf16.

    y[t, c] = silu(x[t, c]) * x[t, width + c]          silu(g) = g / (1 + exp(-g)), in fp32

Algorithm: x is seen as 2 * tokens rows of `width` elements, gate and up by turns. A thread has one vector of a
token; neighbouring threads have neighbouring vectors.

    gG, gU (vec) -loads of up to 128 bits-> rG, rU - silu(rG) * rU -> rO -a store of as many-> gO

Traffic: 3 * tokens * width * 2 bytes.
"""

# CUDA: gated_scalar.cu:5-12

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int32, Int64, Numeric, Uint32
from cutlass.cute.runtime import make_fake_stream, make_ptr


# -- block vector_width be5e683f9251
def vector_width(bits: int, *facts: int, access: int = 128) -> int:
    """Elements of one access of at most `access` bits (256 on sm_100); 1 where nothing wider is aligned."""
    width = max(1, access // bits)
    while any(fact % width for fact in facts):
        width //= 2
    return width


# -- end of vector_width
# -- block device_pointer 12983485f4af
ELEMENTS = {"bf16": BFloat16, "f16": Float16, "f32": Float32}


def address_of(x: Any) -> int:
    """The address in bytes of a CUDA tensor's first element, or a device address as it is."""
    return x if isinstance(x, int) else x.data_ptr()


def device_pointer(x: Any, kind: type[Numeric], width: int) -> Any:
    """A pointer to elements of `kind` in global memory that is aligned to `width` of them."""
    return make_ptr(kind, address_of(x), AddressSpace.gmem, assumed_align=width * kind.width // 8)


# -- end of device_pointer
# -- block row_view 6811058f3db3
def row_view(pointer, rows, columns: int, stride, width: int):
    """Rows of `columns` elements, `stride` elements (Int64) apart."""
    layout = cute.make_layout((rows, columns), stride=(cute.assume(stride, divby=width), 1))
    return cute.make_tensor(pointer, layout)


# -- end of row_view

THREADS = 256  # of a block


@cute.kernel
def gated_kernel(
    mX: cute.Tensor,
    mY: cute.Tensor,
    tokens: Int32,
    width: Int32,
    vec: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    place = Uint32(block) * Uint32(THREADS) + Uint32(thread)
    vectors = Uint32(width // vec)  # of a token
    if place < Uint32(tokens) * vectors:
        t = Int32(place // vectors)
        v = Int32(place % vectors)
        gG = cute.local_tile(mX, (1, vec), (t * 2, v))[0, None]
        gU = cute.local_tile(mX, (1, vec), (t * 2 + 1, v))[0, None]
        gO = cute.local_tile(mY, (1, vec), (t, v))[0, None]
        rG = cute.make_fragment_like(gG)
        rU = cute.make_fragment_like(gU)
        cute.autovec_copy(gG, rG)
        cute.autovec_copy(gU, rU)
        rA = cute.make_rmem_tensor((vec,), Float32)
        rO = cute.make_rmem_tensor((vec,), BFloat16)
        rA.store(rG.load().to(Float32))
        for k in cutlass.range_constexpr(vec):
            g = rA[k]
            rA[k] = g / (1.0 + cute.math.exp(-g))
        rO.store((rA.load() * rU.load().to(Float32)).to(BFloat16))
        cute.autovec_copy(rO, gO)


@cute.jit
def gated_launch(
    x: cute.Pointer,
    y: cute.Pointer,
    tokens: Int32,
    width: Int32,
    vec: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(x, tokens * 2, width, Int64(width), vec)
    mY = row_view(y, tokens, width, Int64(width), vec)
    gated_kernel(mX, mY, tokens, width, vec).launch(
        grid=((tokens * (width // vec) + THREADS - 1) // THREADS, 1, 1), block=(THREADS, 1, 1), stream=stream
    )


@functools.cache
def compile_gated(vec: int = 8):
    """The compiled launcher for accesses of `vec` elements; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        gated_launch,
        device_pointer(0, BFloat16, vec),
        device_pointer(0, BFloat16, vec),
        Int32(0),
        Int32(0),
        vec,
        make_fake_stream(),
    )


def gated(
    x: torch.Tensor | int,
    y: torch.Tensor | int,
    tokens: int,
    width: int,
    *,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `gated` (gated_scalar.cu:5).

    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if tokens <= 0 or width <= 0:
        return
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    starts = [address_of(p) * 8 // BFloat16.width for p in (x, y)]
    vec = vector_width(BFloat16.width, width, *starts)
    compile_gated(vec)(
        device_pointer(x, BFloat16, vec),
        device_pointer(y, BFloat16, vec),
        Int32(tokens),
        Int32(width),
        cuda.CUstream(stream),
    )
