"""CuTe DSL port of `row_sums`: the sum of each row of a matrix of fp32.

    sums[r] = x[r, 0] + x[r, 1] + ... of `columns` elements, for `rows` rows without gaps

Algorithm: a warp for each row. Neighbouring lanes hold neighbouring vectors, CHUNKS of them each; what lies
beyond the row is masked access by access and counts as zero; a butterfly adds the lanes' sums.

    gX -vectors of up to 128 bits-> rX - sum of a lane - butterfly over the warp -> sums[r]

Traffic: rows * columns * 4 bytes read, rows * 4 bytes written.
"""

# CUDA: row_sums_thread_per_row.cu:4-11

import functools
import operator
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int32, Int64, Numeric
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

LANES = 32
CHUNKS = 4  # accesses of a lane that are under way at once
WARPS = 8  # rows of a block


@cute.kernel
def row_sums_kernel(
    mX: cute.Tensor,
    sums: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    columns: Int32,
    width: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane = thread % LANES
    row = block * WARPS + thread // LANES
    span = LANES * width

    copy, tile = row_tiles(Float32, CHUNKS * span, width, LANES)
    count = Int32(0)  # tiles of the row; none where there is no row
    if row < rows:
        count = Int32((columns - 1) // (CHUNKS * span) + 1)
    sum_ = Float32(0.0)
    for j in cutlass.range(0, count, 1):
        tXgX = copy.get_slice(lane).partition_S(cute.local_tile(mX, tile, (row, j)))
        tXrX = cute.make_fragment_like(tXgX)
        rX = cute.make_tensor(tXrX.iterator, cute.make_layout(CHUNKS * width))
        rX.fill(0.0)
        left = columns - j * (CHUNKS * span)
        tXpX = cute.make_rmem_tensor(cute.make_layout((1, 1, CHUNKS)), cutlass.Boolean)
        for k in cutlass.range_constexpr(CHUNKS):
            tXpX[0, 0, k] = lane * width + k * span < left
        cute.copy(copy, tXgX, tXrX, pred=tXpX)
        part = rX[0]
        for k in cutlass.range_constexpr(1, CHUNKS * width):
            part = part + rX[k]
        sum_ = sum_ + part
    total = lane_reduce(sum_, operator.add, LANES)
    if row < rows:
        if lane == 0:
            sums[row] = Float32(total)


@cute.jit
def row_sums_launch(
    x: cute.Pointer,
    sums: cutlass.Pointer[Float32, gmem],
    rows: Int32,
    columns: Int32,
    width: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(x, rows, columns, Int64(columns), width)
    row_sums_kernel(mX, sums, rows, columns, width).launch(
        grid=((rows + WARPS - 1) // WARPS, 1, 1), block=(WARPS * LANES, 1, 1), stream=stream
    )


@functools.cache
def compile_row_sums(width: int = 4):
    """The compiled launcher for accesses of `width` elements; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        row_sums_launch,
        device_pointer(0, Float32, width),
        device_pointer(0, Float32, 1),
        Int32(0),
        Int32(0),
        width,
        make_fake_stream(),
    )


def row_sums(
    x: torch.Tensor | int,
    sums: torch.Tensor | int,
    rows: int,
    columns: int,
    *,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `row_sums` (row_sums_thread_per_row.cu:4).

    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if rows <= 0:
        return
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    width = vector_width(Float32.width, columns, address_of(x) * 8 // Float32.width)
    compile_row_sums(width)(
        device_pointer(x, Float32, width),
        device_pointer(sums, Float32, 1),
        Int32(rows),
        Int32(columns),
        cuda.CUstream(stream),
    )
