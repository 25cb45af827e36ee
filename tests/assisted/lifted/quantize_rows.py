"""CuTe DSL port of `quantize_rows`: rows of fp32 as int8 codes with one scale a row.

    most = max |x[r, c]|, NaN left out         scales[r] = most / 127
    q[r, c] = round(x[r, c] * (127 / most)), between -127 and 127; a row of zeros has the factor 0

Algorithm: `lanes` threads for each row, a warp or a block. Neighbouring lanes hold neighbouring vectors, CHUNKS
of them each; what lies beyond the row is masked access by access. A row is read twice, the second time from
cache where it is in reach.

    gX -vectors of up to 128 bits-> rX - max |x| - warp - warps -> scale, inverse
    gX -vectors of up to 128 bits-> rX * inverse -> codes -vectors of up to 32 bits-> gQ

Traffic: rows * columns * (4 + 1) bytes and 4 bytes a row.
"""

# CUDA: quantize_rows_scalar.cu:4-16

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int8, Int32, Int64, Numeric
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
# -- block row_tiles 532d57a5c3db
def row_tiles(element, columns: int, width: int, lanes: int):
    """(tiled copy, tile shape): accesses of `width` elements; the tile is (1, columns rounded up)."""
    operation, span = cute.nvgpu.CopyUniversalOp(), lanes * width
    atom = cute.make_copy_atom(operation, element, num_bits_per_copy=width * element.width)
    threads_values = cute.make_layout((lanes, width), stride=(width, 1))
    return cute.make_tiled_copy(atom, threads_values, (1, span)), (1, (columns + span - 1) // span * span)


@cute.jit
def in_bounds(tXcX: cute.Tensor, columns: cutlass.Constexpr):
    """A predicate for each access of a thread: whether its first column, and so all of it, exists.
    `tXcX` are the thread's coordinates, ((width, 1), 1, chunks)."""
    chunks = cute.size(tXcX, mode=[2])
    tXpX = cute.make_rmem_tensor(cute.make_layout((1, 1, chunks)), cutlass.Boolean)
    for j in cutlass.range_constexpr(chunks):
        tXpX[0, 0, j] = tXcX[(0, 0), 0, j][1] < columns
    return tXpX


# -- end of row_tiles
# -- block lane_reduce 2f92a86e78c1
@cute.jit
def lane_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result over each group of `lanes` (a power of two up to 32) lanes, in all of them."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        value = operation(value, cute.arch.shuffle_sync_bfly(value, lanes >> (step + 1)))
    return value


# -- end of lane_reduce
# -- block row_reduce 893d93e2de93
@cute.jit
def row_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr, sPart):
    """The result over the `lanes` threads of a row, in all of them. `sPart` is not used up to 32 lanes."""
    value = lane_reduce(value, operation, min(lanes, 32))
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        if lane == 0:
            sPart[warp] = value
        cute.arch.sync_threads()
        value = lane_reduce(sPart[warp // warps * warps + lane % warps], operation, warps)
    return value


# -- end of row_reduce

THREADS = 256  # of a block
CHUNKS = 4  # accesses of a lane that are under way at once
SHORT = 1024  # columns up to which a warp does a row


@cute.jit
def chunks_that_exist(first, left, span: cutlass.Constexpr):
    """A predicate for each access of a thread; `first` is its first column, `left` the columns from the tile on."""
    tXpX = cute.make_rmem_tensor(cute.make_layout((1, 1, CHUNKS)), cutlass.Boolean)
    for k in cutlass.range_constexpr(CHUNKS):
        tXpX[0, 0, k] = first + k * span < left
    return tXpX


@cute.kernel
def quantize_rows_kernel(
    mX: cute.Tensor,
    mQ: cute.Tensor,
    scales: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    columns: Int32,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane = thread % lanes
    row = block * (THREADS // lanes) + thread // lanes
    span = lanes * width
    columns_of_tile = CHUNKS * span

    load, tile = row_tiles(Float32, columns_of_tile, width, lanes)
    store, _ = row_tiles(Int8, columns_of_tile, width, lanes)
    sPart = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))
    count = Int32(0)  # tiles of the row; none where there is no row
    if row < rows:
        count = Int32((columns - 1) // columns_of_tile + 1)

    most = Float32(0.0)
    for j in cutlass.range(0, count, 1):
        tXgX = load.get_slice(lane).partition_S(cute.local_tile(mX, tile, (row, j)))
        tXrX = cute.make_fragment_like(tXgX)
        rX = cute.make_tensor(tXrX.iterator, cute.make_layout(CHUNKS * width))
        rX.fill(0.0)
        tXpX = chunks_that_exist(lane * width, columns - j * columns_of_tile, span)
        cute.copy(load, tXgX, tXrX, pred=tXpX)
        for k in cutlass.range_constexpr(CHUNKS * width):
            most = cute.arch.fmax(most, cute.math.abs(rX[k]))

    most = Float32(row_reduce(most, cute.arch.fmax, lanes, sPart))
    scale = most / 127.0
    inverse = 127.0 / most if most > 0.0 else Float32(0.0)
    if row < rows:
        if lane == 0:
            scales[row] = scale

    for j_1 in cutlass.range(0, count, 1):
        tYgX = load.get_slice(lane).partition_S(cute.local_tile(mX, tile, (row, j_1)))
        tYrX = cute.make_fragment_like(tYgX)
        rY = cute.make_tensor(tYrX.iterator, cute.make_layout(CHUNKS * width))
        rY.fill(0.0)
        tYpX = chunks_that_exist(lane * width, columns - j_1 * columns_of_tile, span)
        cute.copy(load, tYgX, tYrX, pred=tYpX)
        tQgQ = store.get_slice(lane).partition_D(cute.local_tile(mQ, tile, (row, j_1)))
        tQrQ = cute.make_fragment_like(tQgQ)
        rQ = cute.make_tensor(tQrQ.iterator, cute.make_layout(CHUNKS * width))
        for k_1 in cutlass.range_constexpr(CHUNKS * width):
            v = cute.math.roundeven(rY[k_1] * inverse)
            rQ[k_1] = Int8(cute.arch.fmin(cute.arch.fmax(v, Float32(-127.0)), Float32(127.0)))
        cute.copy(store, tQrQ, tQgQ, pred=tYpX)


@cute.jit
def quantize_rows_launch(
    x: cute.Pointer,
    q: cute.Pointer,
    scales: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    columns: Int32,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(x, rows, columns, Int64(columns), width)
    mQ = row_view(q, rows, columns, Int64(columns), width)
    per_block = THREADS // lanes
    quantize_rows_kernel(mX, mQ, scales, rows, columns, width, lanes).launch(
        grid=((rows + per_block - 1) // per_block, 1, 1), block=(THREADS, 1, 1), stream=stream
    )


@functools.cache
def compile_quantize_rows(width: int = 4, lanes: int = THREADS):
    """The compiled launcher for accesses of `width` elements and `lanes` threads of a row; needs no GPU where
    CUTE_DSL_ARCH is set."""
    return cute.compile(
        quantize_rows_launch,
        device_pointer(0, Float32, width),
        device_pointer(0, Int8, width),
        device_pointer(0, Float32, 1),
        Int32(0),
        Int32(0),
        width,
        lanes,
        make_fake_stream(),
    )


def quantize_rows(
    x: torch.Tensor | int,
    q: torch.Tensor | int,
    scales: torch.Tensor | int,
    rows: int,
    columns: int,
    *,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `quantize_rows` (quantize_rows_scalar.cu:4).

    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if rows <= 0:
        return
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    width = vector_width(Float32.width, columns, address_of(x) * 8 // Float32.width, address_of(q))
    lanes = 32 if columns <= SHORT else THREADS
    compile_quantize_rows(width, lanes)(
        device_pointer(x, Float32, width),
        device_pointer(q, Int8, width),
        device_pointer(scales, Float32, 1),
        Int32(rows),
        Int32(columns),
        cuda.CUstream(stream),
    )
