"""Argmax of rows: index = the first column whose element is the row's largest.

Shapes: x is `rows` rows of `columns` elements (32 … 262,144 is what it is tuned for), `x_stride` apart: bf16,
fp16 or fp32. index (rows,) is i32 or i64.

Algorithm: one read, nothing kept. Lanes of a warp, a block, or with fewer rows than multiprocessors a cluster
of up to 8 blocks sweep a row in steps of `share` 128-bit accesses a thread:

    chunk of a row   │ block 0: lane 0 … lane n │ block 1: lane 0 … lane n │ …      step: `share` chunks
    gX ─→ rX ─→ a thread's best ─→ (value, column) as 64 bits ─ max over lanes ─ warps ─ blocks ─→ column

Of equal elements the first wins; NaN counts as largest, and -0 as 0, as in torch.

Units: x_stride in elements. Traffic: rows · columns · bytes of an element, and one index a row.
Source of the technique: order-preserving integer keys, as radix sorts use them, with the column below.
"""

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


# -- block row_steps 482dcdc48754
def row_steps(columns: int, span: int, share: int):
    """(chunks that certainly exist, full steps of `share` chunks, chunks of the rest, 1 … share) of a row of
    `columns` elements, where a chunk is `span` of them."""
    chunks = -(-columns // span)
    steps = (chunks - 1) // share
    return columns // span, steps, chunks - steps * share


@cute.jit
def load_chunks(
    copy,
    tXgX: cute.Tensor,
    tXcX: cute.Tensor,
    tXrX: cute.Tensor,
    first,
    columns: cutlass.Constexpr,
    certain: cutlass.Constexpr,
):
    """Chunks from `first` on into all of `tXrX`; beyond the row it stays as it was. Of the chunks the first
    `certain` exist for every thread."""
    chunks = cute.size(tXrX, mode=[2])
    for j in cutlass.range_constexpr(min(certain, chunks)):
        cute.copy(copy, tXgX[None, None, first + j], tXrX[None, None, j])
    for j in cutlass.range_constexpr(min(certain, chunks), chunks):
        if tXcX[(0, 0), 0, first + j][1] < columns:
            cute.copy(copy, tXgX[None, None, first + j], tXrX[None, None, j])


@cute.jit
def store_chunks(
    copy,
    tXrX: cute.Tensor,
    tXgX: cute.Tensor,
    tXcX: cute.Tensor,
    first,
    columns: cutlass.Constexpr,
    certain: cutlass.Constexpr,
):
    """The other way: all of `tXrX` to the chunks from `first` on that exist."""
    chunks = cute.size(tXrX, mode=[2])
    for j in cutlass.range_constexpr(min(certain, chunks)):
        cute.copy(copy, tXrX[None, None, j], tXgX[None, None, first + j])
    for j in cutlass.range_constexpr(min(certain, chunks), chunks):
        if tXcX[(0, 0), 0, first + j][1] < columns:
            cute.copy(copy, tXrX[None, None, j], tXgX[None, None, first + j])


# -- end of row_steps

# -- block ranked 566c276aef35
FURTHEST = 0x7FFFFFFF


@cute.jit
def ranked(value, column):
    """A number of 64 bits for `value` (fp32) in `column` (0 … 2^31 - 1)."""
    bits = (value + 0.0).bitcast(Int32)  # -0 + 0 is 0
    turned = cutlass.select_(value != value, Int32(FURTHEST), bits ^ ((bits >> 31) & FURTHEST))
    return (Int64(turned) << 32) | Int64(FURTHEST - column)


@cute.jit
def ranked_value(number):
    """The value (fp32) in a number of `ranked`; -0 comes back as 0."""
    turned = Int32(number >> 32)
    return (turned ^ ((turned >> 31) & FURTHEST)).bitcast(Float32)


@cute.jit
def ranked_column(number):
    """The column in a number of `ranked`."""
    return FURTHEST - Int32(number & FURTHEST)


@cute.jit
def higher(a, b):
    """The larger of two numbers of `ranked`: an operation for reductions."""
    return max(a, b)


# -- end of ranked


# -- block row_best 36c4ff39f5dc
@cute.jit
def best_more(tXrX: cute.Tensor, tXcX: cute.Tensor, first, top, at, rK: cute.Tensor):
    """(top, at) with the chunks of `tXrX`, which are the row's from `first` on, taken in; `rK` is changed."""
    for j in cutlass.range_constexpr(cute.size(tXrX, mode=[2])):
        most = top
        for i in cutlass.range_constexpr(cute.size(rK)):
            most = cute.arch.fmax(most, Float32(tXrX[(i, 0), 0, j]), nan=True)
        if (most != top) & (top == top):
            top, at = most, tXcX[(0, 0), 0, first + j][1]
            for i in cutlass.range_constexpr(cute.size(rK)):
                rK[i] = tXrX[(i, 0), 0, j]
    return top, at


@cute.jit
def best_place(top, at, rK: cute.Tensor):
    """The thread's element as a number of `ranked`: the first of `rK`, from column `at` on, that is `top`."""
    found = Int32(0)
    for i in cutlass.range_constexpr(cute.size(rK) - 1, -1, -1):
        value = Float32(rK[i])
        found = cutlass.select_((value == top) | ((value != value) & (top != top)), Int32(i), found)
    return ranked(top, at + found)


# -- end of row_best


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


# -- block cluster_reduce a770b181b465
@cute.jit
def cluster_begin(blocks: cutlass.Constexpr):
    """Tells the cluster that this block runs: by all threads, once before each `cluster_share`."""
    if cutlass.const_expr(blocks > 1):
        cute.arch.cluster_arrive_relaxed()


@cute.jit
def cluster_share(values, blocks: cutlass.Constexpr, sFroms):
    """Each of `values`, equal in all threads of a block, to entry `rank` of its tensor in `sFroms` in all
    blocks. Values have 32 or 64 bits; each tensor has `blocks` entries and is used once."""
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.cluster_wait()
    if thread < blocks:
        for value, sFrom in zip(values, sFroms, strict=True):
            at = (sFrom.iterator + cute.arch.block_idx_in_cluster()).toint()
            cute.arch.inline_ptx(
                "{ .reg .b32 far; mapa.shared::cluster.u32 far, {$r0}, {$r1};"
                f" st.shared::cluster.b{value.width} [far], {{$r2}}; }}",
                read_only_args=[at, thread, value],
            )
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def cluster_reduce(value, operation: cutlass.Constexpr, blocks: cutlass.Constexpr, sFrom):
    """The result over `blocks` blocks (a power of two up to 8), in all their threads, of a value that is
    equal in all threads of a block. After `cluster_begin`; `sFrom` is used once."""
    if cutlass.const_expr(blocks > 1):
        cluster_share((value,), blocks, (sFrom,))
        value = lane_reduce(sFrom[cute.arch.lane_idx() % blocks], operation, blocks)
    return value


# -- end of cluster_reduce

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

# -- block row_spread 3fde04725356
LONG, WIDE, WIDEST = 2048, 512, 1024  # vectors of a long row at least; threads of its blocks


def row_spread(
    vectors: int, rows: int, multiprocessors: int, most_blocks: int, hold: int
) -> tuple[int, int, int]:
    """(lanes of a row in each block, rows of a block, blocks of a row, a power of two)."""
    lanes, block_rows = row_partition(vectors, 1, rows, multiprocessors)
    blocks = 1
    if rows > multiprocessors:
        if vectors > LONG:
            lanes, block_rows = WIDE, 1
        while lanes < WIDE and lanes * hold < vectors and hold:
            lanes, block_rows = 2 * lanes, max(1, block_rows // 2)
        while blocks < most_blocks and blocks * lanes * hold < vectors and hold:
            blocks *= 2
        while lanes < WIDEST and hold and blocks * lanes * hold < vectors:
            lanes *= 2
        return lanes, block_rows, blocks
    while blocks < most_blocks and blocks * lanes < vectors and 2 * blocks * rows <= multiprocessors:
        blocks *= 2
    while blocks < most_blocks and hold and blocks * lanes * hold < vectors:
        blocks *= 2
    return lanes, block_rows, blocks


# -- end of row_spread

# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts

INDICES = {"i32": Int32, "i64": Int64}
SHARE = 4  # vectors of 128 bits that a thread has under way


@cute.kernel
def argmax_kernel(
    mX: cute.Tensor,
    mI: cute.Tensor,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    share: cutlass.Constexpr,
):
    cluster_begin(blocks)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    element, columns = mX.element_type, mX.shape[1]
    copy, tile = row_tiles(element, columns, width, lanes * blocks)
    rank, row = block % blocks, block // blocks * block_rows + thread // lanes
    mine = copy.get_slice(rank * lanes + thread % lanes)
    gX = cute.local_tile(mX, tile, (min(row, mX.shape[0] - 1), 0))  # beyond the end: the last row again
    cX = cute.local_tile(cute.make_identity_tensor((1, columns)), tile, (0, 0))
    tXgX, tXcX = mine.partition_S(gX), mine.partition_S(cX)
    certain, steps, rest = row_steps(columns, lanes * blocks * width, share)
    tXrX = cute.make_rmem_tensor((tXgX.shape[0], 1, share), element)  # a step
    tXrR = cute.make_rmem_tensor((tXgX.shape[0], 1, rest), element)  # what steps leave
    rK = cute.make_rmem_tensor(width, element)
    tXrR.fill(-element.inf)
    rK.fill(-element.inf)
    sPart = cute.make_tensor(cute.arch.alloc_smem(Int64, 32, 16), cute.make_layout(32))
    sFrom = cute.make_tensor(cute.arch.alloc_smem(Int64, 8, 16), cute.make_layout(8))

    top, at = -Float32.inf, tXcX[(0, 0), 0, 0][1]
    for step in cutlass.range(steps, unroll=1):
        load_chunks(copy, tXgX, tXcX, tXrX, step * share, columns, share)
        top, at = best_more(tXrX, tXcX, step * share, top, at, rK)
    load_chunks(copy, tXgX, tXcX, tXrR, steps * share, columns, certain - steps * share)
    top, at = best_more(tXrR, tXcX, steps * share, top, at, rK)
    best = row_reduce(best_place(top, at, rK), higher, lanes, sPart)
    best = cluster_reduce(best, higher, blocks, sFrom)
    if thread % lanes == 0 and rank == 0 and row < mX.shape[0]:
        mI[row] = mI.element_type(ranked_column(best))


@cute.jit
def argmax_launch(
    pI: cute.Pointer,
    pX: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    columns: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    share: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mI = row_view(pX, rows, columns, x_stride, width), cute.make_tensor(pI, cute.make_layout(rows))
    argmax_kernel(mX, mI, width, lanes, block_rows, blocks, share).launch(
        grid=((rows + block_rows - 1) // block_rows * blocks, 1, 1),
        block=(lanes * block_rows, 1, 1),
        cluster=(blocks, 1, 1) if cutlass.const_expr(blocks > 1) else None,
        stream=stream,
    )


@functools.cache
def _compiled(dtype, index, columns, width, lanes, block_rows, blocks, share, capability):
    pX, pI = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, INDICES[index], 1)
    return cute.compile(
        argmax_launch, pI, pX, Int32(0), Int64(0),
        columns, width, lanes, block_rows, blocks, share, make_fake_stream(),
    )  # fmt: skip


def compile_argmax(dtype, index_dtype, rows, columns, width=0, device=NO_DEVICE, share=SHARE, plan=None):
    """The compiled launcher for these facts; width 0 is the widest that `columns` allows. `plan` replaces
    (lanes, rows of a block, blocks of a cluster, vectors of 128 bits that a thread has under way)."""
    multiprocessors, capability = device
    bits = ELEMENTS[dtype].width
    width = width or vector_width(bits, columns)
    if plan is None:
        most_blocks = 8 if capability >= 90 else 1
        plan = *row_spread(-(-columns * bits // 128), rows, multiprocessors, most_blocks, 0), share
    lanes, block_rows, blocks, share = plan
    share = share * 128 // bits // width
    return _compiled(dtype, index_dtype, columns, width, lanes, block_rows, blocks, share, capability)


def argmax(
    index: torch.Tensor | int,
    x: torch.Tensor | int,
    rows: int,
    columns: int,
    x_stride: int,
    *,
    dtype: str,
    index_dtype: str,
    stream: int | None = None,
    share: int = SHARE,
) -> None:
    """The column of each row's largest element. Tensors or device addresses; `index_dtype` is i32 or i64;
    `stream` defaults to torch's current one."""
    if rows == 0:
        return
    kind = ELEMENTS[dtype]
    width = vector_width(kind.width, columns, x_stride, address_of(x) * 8 // kind.width)
    compile_argmax(dtype, index_dtype, rows, columns, width, device_facts(), share)(
        device_pointer(index, INDICES[index_dtype], 1), device_pointer(x, kind, width),
        Int32(rows), Int64(x_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
