"""CuTe DSL port of `layer_norm`: y = (x - mean(x)) * rsqrt(var(x) + 1e-5) * weight + bias, row by row, in fp32.

Shapes: x and y are `rows` contiguous rows of `width` elements, weight and bias have `width` elements.

Algorithm: the sums of a row are made in the original's order, by one thread, because where the mean is large its
last bits show in the result. All that moves memory is dealt out anew: a block has ROWS rows and walks them in
chunks of CHUNK columns, neighbouring lanes hold neighbouring vectors, and shared memory turns the tile round:

    gX (ROWS, CHUNK) -vector loads-> rX -> sX -thread r, column after column-> mean[r]
    gX               -vector loads-> rX - mean -> sX -thread r-> variance[r]
    gX               -vector loads-> (rX - mean) * scale * rW + rB -vector stores-> gO

The next chunk is loaded while the last one is summed. What lies beyond a row is zero in sX and changes no sum.
The elements of an access are a compile-time constant; odd addresses or widths get narrower accesses.

Traffic: 4 * rows * width * 4 bytes (less where the caches hold rows), and weight and bias.
"""

# CUDA: layer_norm_thread_per_row.cu:4-16

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int32, Int64, Numeric
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

THREADS = 128  # of a block
ROWS = 32  # of a block
EACH = ROWS * 32 // THREADS  # rows of a warp
CHUNK = 128  # columns of a tile: 4 for each lane
STRIDE = CHUNK + 4  # between rows of the tile in shared memory: vectors of eight rows lie in different banks
EPS = 1e-05


@cute.jit
def load_chunk(mX: cute.Tensor, rX: cute.Tensor, first, chunk, vectors, vector: cutlass.Constexpr):
    """This thread's part of a chunk; beyond the end the last row or vector again."""
    thread, _, _ = cute.arch.thread_idx()
    for k in cutlass.range_constexpr(4 // vector):
        v = cutlass.min(chunk * (CHUNK // vector) + (k * 32 + (thread & 31)), vectors - 1)
        for j in cutlass.range_constexpr(EACH):
            row = cutlass.min(first + j, mX.shape[0] - 1)
            cute.autovec_copy(cute.local_tile(mX, (1, vector), (row, v))[0, None], rX[None, k, j])


@cute.jit
def serial_sum(
    mX: cute.Tensor,
    sX: cute.Tensor,
    sMean: cute.Tensor,
    first,
    vectors,
    chunks,
    centred: cutlass.Constexpr,
    vector: cutlass.Constexpr,
):
    """In thread r < ROWS the sum over row r of the block, from the first column to the last: of x, or of
    (x - mean)^2 where `centred`."""
    thread, _, _ = cute.arch.thread_idx()
    warp, lane = thread >> 5, thread & 31
    rX = cute.make_rmem_tensor(cute.make_layout((vector, 4 // vector, EACH)), Float32)
    rS = cute.make_rmem_tensor(cute.make_layout(4), Float32)
    total = Float32(0.0)
    chunk = Int32(0)
    load_chunk(mX, rX, first, chunk, vectors, vector)
    while chunk < chunks:
        if cutlass.const_expr(centred):
            for j in cutlass.range_constexpr(EACH):
                mean = sMean[warp * EACH + j]
                for k in cutlass.range_constexpr(4 // vector):
                    for i in cutlass.range_constexpr(vector):
                        rX[i, k, j] = rX[i, k, j] - mean
        for k in cutlass.range_constexpr(4 // vector):
            if chunk * (CHUNK // vector) + (k * 32 + lane) >= vectors:
                for j in cutlass.range_constexpr(EACH):
                    rX[None, k, j].fill(0.0)
            for j in cutlass.range_constexpr(EACH):
                place = cute.local_tile(sX, (1, vector), (warp * EACH + j, k * 32 + lane))
                cute.autovec_copy(rX[None, k, j], place[0, None])
        cute.arch.sync_threads()
        load_chunk(mX, rX, first, chunk + 1, vectors, vector)
        if thread < ROWS:
            for v in cutlass.range_constexpr(CHUNK // 4):
                cute.autovec_copy(cute.local_tile(sX, (1, 4), (thread, v))[0, None], rS)
                for i in cutlass.range_constexpr(4):
                    if cutlass.const_expr(centred):
                        total = total + rS[i] * rS[i]
                    else:
                        total = total + rS[i]
        cute.arch.sync_threads()
        chunk = chunk + 1
    return total


@cute.kernel
def layer_norm_kernel(
    mX: cute.Tensor,
    mW: cute.Tensor,
    mB: cute.Tensor,
    mO: cute.Tensor,
    rows: Int32,
    width: Int32,
    vector: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp, lane = thread >> 5, thread & 31
    sX = cute.make_tensor(
        cute.arch.alloc_smem(Float32, ROWS * STRIDE, 16), cute.make_layout((ROWS, CHUNK), stride=(STRIDE, 1))
    )
    sMean = cute.make_tensor(cute.arch.alloc_smem(Float32, ROWS, 16), cute.make_layout(ROWS))
    sScale = cute.make_tensor(cute.arch.alloc_smem(Float32, ROWS, 16), cute.make_layout(ROWS))
    first = block * ROWS + warp * EACH
    vectors, chunks = width // vector, (width + (CHUNK - 1)) // CHUNK

    total = serial_sum(mX, sX, sMean, first, vectors, chunks, False, vector)
    if thread < ROWS:
        sMean[thread] = total / Float32(width)
    cute.arch.sync_threads()
    total = serial_sum(mX, sX, sMean, first, vectors, chunks, True, vector)
    if thread < ROWS:
        sScale[thread] = cute.math.rsqrt(total / Float32(width) + EPS)
    cute.arch.sync_threads()

    rX = cute.make_rmem_tensor(cute.make_layout((vector, 4 // vector, EACH)), Float32)
    rO = cute.make_rmem_tensor(cute.make_layout((vector, 4 // vector, EACH)), Float32)
    rW = cute.make_rmem_tensor(cute.make_layout((vector, 4 // vector)), Float32)
    rB = cute.make_rmem_tensor(cute.make_layout((vector, 4 // vector)), Float32)
    chunk = Int32(0)
    load_chunk(mX, rX, first, chunk, vectors, vector)
    while chunk < chunks:
        for k in cutlass.range_constexpr(4 // vector):
            v = cutlass.min(chunk * (CHUNK // vector) + (k * 32 + lane), vectors - 1)
            cute.autovec_copy(cute.local_tile(mW, (1, vector), (0, v))[0, None], rW[None, k])
            cute.autovec_copy(cute.local_tile(mB, (1, vector), (0, v))[0, None], rB[None, k])
        for j in cutlass.range_constexpr(EACH):
            mean, scale = sMean[warp * EACH + j], sScale[warp * EACH + j]
            for k in cutlass.range_constexpr(4 // vector):
                for i in cutlass.range_constexpr(vector):
                    rO[i, k, j] = (rX[i, k, j] - mean) * scale * rW[i, k] + rB[i, k]
        load_chunk(mX, rX, first, chunk + 1, vectors, vector)
        for k in cutlass.range_constexpr(4 // vector):
            v = chunk * (CHUNK // vector) + (k * 32 + lane)
            for j in cutlass.range_constexpr(EACH):
                if v < vectors and first + j < rows:
                    cute.autovec_copy(rO[None, k, j], cute.local_tile(mO, (1, vector), (first + j, v))[0, None])
        chunk = chunk + 1


@cute.jit
def layer_norm_launch(
    pX: cute.Pointer,
    pW: cute.Pointer,
    pB: cute.Pointer,
    pO: cute.Pointer,
    rows: Int32,
    width: Int32,
    vector: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mO = [row_view(p, rows, width, Int64(width), vector) for p in (pX, pO)]
    mW, mB = [row_view(p, 1, width, Int64(width), vector) for p in (pW, pB)]
    layer_norm_kernel(mX, mW, mB, mO, rows, width, vector).launch(
        grid=((rows + (ROWS - 1)) // ROWS, 1, 1), block=(THREADS, 1, 1), stream=stream
    )


@functools.cache
def compile_layer_norm(vector: int = 4):
    """The compiled launcher for accesses of `vector` elements."""
    pointer = device_pointer(0, Float32, vector)
    return cute.compile(
        layer_norm_launch, pointer, pointer, pointer, pointer, Int32(0), Int32(0), vector, make_fake_stream()
    )


def layer_norm(
    x: torch.Tensor | int,
    weight: torch.Tensor | int,
    bias: torch.Tensor | int,
    y: torch.Tensor | int,
    rows: int,
    width: int,
    *,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `layer_norm` (layer_norm_thread_per_row.cu:4).

    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if rows <= 0 or width <= 0:
        return
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    arguments = (x, weight, bias, y)
    vector = vector_width(32, width, *(address_of(t) // 4 for t in arguments))
    compile_layer_norm(vector)(
        *(device_pointer(t, Float32, vector) for t in arguments),
        Int32(rows),
        Int32(width),
        cuda.CUstream(stream),
    )
