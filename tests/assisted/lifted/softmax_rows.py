"""CuTe DSL port of `softmax_rows`: y = exp(x - max(x)) / sum(exp(x - max(x))), row by row, in fp32.

Shapes: x and y are `rows` contiguous rows of `columns` elements. y may be x.

Algorithm: a group of lanes owns a row and keeps it in registers, so that x is read once and y written once:

    gX -vector loads-> rX - max - lanes - warps -> exp(rX - max) - sum - lanes - warps -> rX / sum -vector stores-> gO

`columns`, the elements of an access, the lanes of a row and the rows of a block are compile-time constants. Odd
addresses or row lengths get narrower accesses. Rows of more than WIDEST elements are not kept: a block walks its
row three times, as the original does.

Traffic: 2 * rows * columns * 4 bytes.
"""

# CUDA: softmax_thread_per_row.cu:4-18

import functools
import operator
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
# -- block row_partition 730513b6d5c9
# (vectors of a row up to which it holds, vectors of a thread)
PREFILL = ((64, 1), (512, 2), (1 << 30, 4))
PREFILL_THREADS, DECODE_THREADS = 128, 32  # of a block at least
LEAST_LANES, MOST_LANES = 4, 1024


def row_partition(columns: int, width: int, rows: int, multiprocessors: int) -> tuple[int, int]:
    """(lanes of a row, rows of a block); their product is the block's threads, a multiple of 32."""
    vectors = -(-columns // width)
    share, threads = 1, DECODE_THREADS
    if rows > multiprocessors:
        share, threads = min(each for most, each in PREFILL if vectors <= most), PREFILL_THREADS
    wanted = -(-vectors // share)
    lanes = LEAST_LANES
    while lanes < wanted and lanes < MOST_LANES:
        lanes *= 2
    return lanes, max(1, threads // lanes)


# -- end of row_partition
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
# -- block zero_outside b2b9d2162174
@cute.jit
def zero_outside(tXrX: cute.Tensor, tXpX: cute.Tensor):
    """Overwrite the accesses of `tXrX` whose predicate in `tXpX` (row_tiles.in_bounds) does not hold."""
    for j in cutlass.range_constexpr(cute.size(tXrX, mode=[2])):
        if not tXpX[0, 0, j]:
            tXrX[None, 0, j].fill(0.0)


# -- end of zero_outside

# In place of row_partition's own: the row waits twice, so a thread has more of it under way.
PREFILL = ((64, 1), (256, 2), (512, 4), (1 << 30, 8))

WIDEST = 16384  # elements of a row that registers hold
LEAST = -3.4e38  # what the original starts the maximum with


@cute.kernel
def softmax_rows_kernel(
    mX: cute.Tensor,
    mO: cute.Tensor,
    columns: cutlass.Constexpr,
    vector: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row = block * block_rows + thread // lanes
    sMost = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))
    sSum = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))
    if cutlass.const_expr(columns <= WIDEST):
        copy, tile = row_tiles(Float32, columns, vector, lanes)
        mine = copy.get_slice(thread % lanes)
        gX, gO = [cute.local_tile(m, tile, (row, 0)) for m in (mX, mO)]
        cX = cute.local_tile(cute.make_identity_tensor((1, columns)), tile, (0, 0))
        tXgX, tXgO = [mine.partition_S(g) for g in (gX, gO)]
        tXpX = in_bounds(mine.partition_S(cX), columns)

        # What lies beyond the row, or beyond the last row, does not raise the maximum.
        tXrX = cute.make_fragment_like(tXgX)
        tXrX.fill(LEAST)
        if row < mX.shape[0]:
            cute.copy(copy, tXgX, tXrX, pred=tXpX)
        count = cute.size(tXrX)
        most = Float32(LEAST)
        for j in cutlass.range_constexpr(count):
            most = cute.arch.fmax(most, tXrX[j])
        most = row_reduce(most, cute.arch.fmax, lanes, sMost)
        for j in cutlass.range_constexpr(count):
            tXrX[j] = cute.math.exp(tXrX[j] - most)
        zero_outside(tXrX, tXpX)
        total = row_reduce(tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0), operator.add, lanes, sSum)
        for j in cutlass.range_constexpr(count):
            tXrX[j] = tXrX[j] / total
        if row < mX.shape[0]:
            cute.copy(copy, tXrX, tXgO, pred=tXpX)
    else:  # one row a block, so no row is beyond the end
        most = Float32(LEAST)
        c = thread
        while c < columns:
            most = cute.arch.fmax(most, mX[row, c])
            c = c + lanes
        most = row_reduce(most, cute.arch.fmax, lanes, sMost)
        total = Float32(0.0)
        c = thread
        while c < columns:
            e = cute.math.exp(mX[row, c] - most)
            mO[row, c] = e
            total = total + e
            c = c + lanes
        total = row_reduce(total, operator.add, lanes, sSum)
        c = thread
        while c < columns:
            mO[row, c] = mO[row, c] / total
            c = c + lanes


@cute.jit
def softmax_rows_launch(
    pX: cute.Pointer,
    pO: cute.Pointer,
    rows: Int32,
    columns: cutlass.Constexpr,
    vector: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mO = [row_view(p, rows, columns, Int64(columns), vector) for p in (pX, pO)]
    softmax_rows_kernel(mX, mO, columns, vector, lanes, block_rows).launch(
        grid=((rows + block_rows - 1) // block_rows, 1, 1), block=(lanes * block_rows, 1, 1), stream=stream
    )


@functools.cache
def compile_softmax_rows(columns: int, vector: int = 0, lanes: int = 0, block_rows: int = 0):
    """The compiled launcher; 0 stands for the widest access that `columns` allows and a partition for many rows."""
    vector = vector or vector_width(32, columns)
    if not lanes:
        lanes, block_rows = row_partition(columns, vector, 1 << 30, NO_DEVICE[0])
    pointer = device_pointer(0, Float32, vector)
    return cute.compile(
        softmax_rows_launch,
        pointer,
        pointer,
        Int32(0),
        columns,
        vector,
        lanes,
        block_rows,
        make_fake_stream(),
    )


def softmax_rows(
    x: torch.Tensor | int,
    y: torch.Tensor | int,
    rows: int,
    columns: int,
    *,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `softmax_rows` (softmax_thread_per_row.cu:4).

    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if rows <= 0 or columns <= 0:
        return
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    vector = vector_width(32, columns, *(address_of(t) // 4 for t in (x, y)))
    multiprocessors, _ = device_facts()
    lanes, block_rows = row_partition(columns, vector, rows, multiprocessors)
    compile_softmax_rows(columns, vector, lanes, block_rows)(
        *(device_pointer(t, Float32, vector) for t in (x, y)),
        Int32(rows),
        cuda.CUstream(stream),
    )
