"""CuTe DSL port of `column_sums`: the sums of the columns of a matrix of fp32, added to what is there.

    sums[c] += x[0, c] + x[1, c] + ... of `rows` rows without gaps

Algorithm: a thread has one vector of columns in a strip of rows, which it adds up in registers; neighbouring
threads have neighbouring vectors. Each strip adds its sums with one atomic addition a column.

    gX (vec) of row after row, UNROLL loads at once -> rSum (vec) -atomic additions-> sums

Traffic: rows * columns * 4 bytes read, and an atomic addition for each column of each strip.
"""

# CUDA: column_sums_atomic.cu:4-7

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Uint32
from cutlass.cute.runtime import make_fake_stream, make_ptr

gmem = AddressSpace.gmem


# -- block vector_width be5e683f9251
def vector_width(bits: int, *facts: int, access: int = 128) -> int:
    """Elements of one access of at most `access` bits (256 on sm_100); 1 where nothing wider is aligned."""
    width = max(1, access // bits)
    while any(fact % width for fact in facts):
        width //= 2
    return width


# -- end of vector_width
# -- block row_view 6811058f3db3
def row_view(pointer, rows, columns: int, stride, width: int):
    """Rows of `columns` elements, `stride` elements (Int64) apart."""
    layout = cute.make_layout((rows, columns), stride=(cute.assume(stride, divby=width), 1))
    return cute.make_tensor(pointer, layout)


# -- end of row_view


def address_of(x: Any) -> int:
    """The address in bytes of a CUDA tensor's first element, a device address as it is, 0 for None."""
    return 0 if x is None else x if isinstance(x, int) else x.data_ptr()


def device_pointer(x: Any, kind: type[Numeric], width: int) -> Any:
    """A pointer to elements of `kind` in global memory that is aligned to `width` of them."""
    return make_ptr(kind, address_of(x), gmem, assumed_align=width * kind.width // 8)


THREADS = 256  # of a block
UNROLL = 4  # rows whose loads are under way at once
WANTED = 1 << 18  # threads of a launch, about as many as a GPU holds


@cute.kernel
def column_sums_kernel(
    mX: cute.Tensor,
    sums: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    columns: Int32,
    strip: Int32,
    vec: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    place = Uint32(block) * Uint32(THREADS) + Uint32(thread)
    vectors = Uint32(columns // vec)  # of a row
    strips = Uint32((rows + strip - 1) // strip)
    if place < strips * vectors:
        v = Int32(place % vectors)
        first = Int32(place // vectors) * strip
        count = rows - first
        if count > strip:
            count = strip
        groups = count // UNROLL

        rSum = cute.make_rmem_tensor((vec,), Float32)
        rSum.fill(0.0)
        for j in cutlass.range(0, groups, 1):
            rX = [cute.make_rmem_tensor((vec,), Float32) for _ in range(UNROLL)]
            for k in cutlass.range_constexpr(UNROLL):
                gX = cute.local_tile(mX, (1, vec), (first + j * UNROLL + k, v))
                cute.autovec_copy(gX[0, None], rX[k])
            for k_1 in cutlass.range_constexpr(UNROLL):
                for e in cutlass.range_constexpr(vec):
                    rSum[e] = rSum[e] + rX[k_1][e]
        for j_1 in cutlass.range(groups * UNROLL, count, 1):
            rRest = cute.make_rmem_tensor((vec,), Float32)
            gRest = cute.local_tile(mX, (1, vec), (first + j_1, v))
            cute.autovec_copy(gRest[0, None], rRest)
            for e_1 in cutlass.range_constexpr(vec):
                rSum[e_1] = rSum[e_1] + rRest[e_1]
        for e_2 in cutlass.range_constexpr(vec):
            cute.arch.atomic_add(sums + (v * vec + e_2), rSum[e_2])


@cute.jit
def column_sums_launch(
    x: cute.Pointer,
    sums: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    columns: Int32,
    strip: Int32,
    vec: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(x, rows, columns, Int64(columns), vec)
    threads = (rows + strip - 1) // strip * (columns // vec)
    column_sums_kernel(mX, sums, rows, columns, strip, vec).launch(
        grid=((threads + THREADS - 1) // THREADS, 1, 1), block=(THREADS, 1, 1), stream=stream
    )


@functools.cache
def compile_column_sums(vec: int = 4):
    """The compiled launcher for accesses of `vec` elements; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        column_sums_launch,
        device_pointer(0, Float32, vec),
        device_pointer(0, Float32, 1),
        Int32(0),
        Int32(0),
        Int32(1),
        vec,
        make_fake_stream(),
    )


def column_sums(
    x: torch.Tensor | int | None,
    sums: torch.Tensor | int | None,
    rows: int,
    columns: int,
    *,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `column_sums` (column_sums_atomic.cu:4).

    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if rows <= 0 or columns <= 0:
        return
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    vec = vector_width(Float32.width, columns, address_of(x) * 8 // Float32.width)
    strip = UNROLL * max(2, -(-rows * (columns // vec) // (WANTED * UNROLL)))
    compile_column_sums(vec)(
        device_pointer(x, Float32, vec),
        device_pointer(sums, Float32, 1),
        Int32(rows),
        Int32(columns),
        Int32(strip),
        cuda.CUstream(stream),
    )
