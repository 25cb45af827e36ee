"""Top-k of rows: the k largest elements of each row in falling order, and their columns.

Shapes: x is `rows` rows of `columns` elements (64 … 262,144 is what it is tuned for), `x_stride` apart: bf16,
fp16 or fp32. values (rows, k) are of the same type, indices (rows, k) i32 or i64; 1 ≤ k ≤ 32, k ≤ columns.

Algorithm: one sweep, and a second look at a few columns. Each thread finds its own best element; the k-th of
those bounds the result from below, and only the k threads with such a best can have any of it:

    gX ─→ a thread's best ─ lane_sort ─ row_merge ─→ 32 best threads, bound = the k-th's best
    those k threads' chunks, dealt to all ─→ elements ≥ bound ─ lane_insert ─ row_merge ─→ k of the row

An element and its column are one 64-bit integer, all different, so that equal elements and constant rows are
nothing special: of equal elements those further left come first; NaN counts as largest, and -0 as 0, which it
comes out as. 32 lanes at least share a row.

Units: x_stride in elements. Traffic: rows · columns · bytes of an element; k / threads of a row again, mostly
from the cache, and k values and indices.
Source of the technique: bounds from maxima of parts, as in WarpSelect and bucketed selection.
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


# -- block lane_rank 4d3ea159cca5
@cute.jit
def lane_order(value, size: cutlass.Constexpr, span: cutlass.Constexpr):
    """Bitonic steps with lanes `span`, span / 2 … 1 away; runs of `size` lanes fall and rise in turns."""
    lane = cute.arch.lane_idx()
    for step in cutlass.range_constexpr(span.bit_length()):
        away = span >> step
        other = cute.arch.shuffle_sync_bfly(value, away)
        falls = ((lane & size) == 0) == ((lane & away) == 0)
        value = cutlass.select_(falls, max(value, other), min(value, other))
    return value


@cute.jit
def lane_sort(value):
    """The warp's 32 numbers in falling order."""
    for power in cutlass.range_constexpr(1, 6):
        value = lane_order(value, 1 << power, 1 << (power - 1))
    return value


@cute.jit
def lane_merge(value, reversed_other):
    """The 32 largest of two lists in falling order, the second given from its end."""
    return lane_order(max(value, reversed_other), 32, 16)


@cute.jit
def lane_insert(value, number):
    """The 32 largest of a list in falling order and `number`, equal in all lanes."""
    left = cute.arch.shuffle_sync_up(value, 1, mask_and_clamp=0)
    left = cutlass.select_(cute.arch.lane_idx() == 0, number, left)
    return max(value, min(left, number))


@cute.jit
def row_merge(value, lanes: cutlass.Constexpr, sLists):
    """The 32 largest of the lists of a row's lanes / 32 warps, in all of them. `sLists` (warps of the block,
    32) is used above 32 lanes."""
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        for level in cutlass.range_constexpr(warps.bit_length() - 1):
            half = warps >> (level + 1)
            if (warp % warps >= half) & (warp % warps < 2 * half):
                sLists[warp, lane] = value
            cute.arch.sync_threads()
            if warp % warps < half:
                value = lane_merge(value, sLists[warp + half, 31 - lane])
        if warp % warps == 0:
            sLists[warp, lane] = value
        cute.arch.sync_threads()
        value = sLists[warp // warps * warps, lane]
    return value


# -- end of lane_rank

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
def top_k_kernel(
    mX: cute.Tensor,
    mV: cute.Tensor,
    mI: cute.Tensor,
    k: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    share: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    element, columns = mX.element_type, mX.shape[1]
    copy, tile = row_tiles(element, columns, width, lanes)
    row, lane = block * block_rows + thread // lanes, thread % lanes
    gX = cute.local_tile(mX, tile, (min(row, mX.shape[0] - 1), 0))  # beyond the end: the last row again
    cX = cute.local_tile(cute.make_identity_tensor((1, columns)), tile, (0, 0))
    mine = copy.get_slice(lane)
    tXgX, tXcX = mine.partition_S(gX), mine.partition_S(cX)
    certain, steps, rest = row_steps(columns, lanes * width, share)
    tXrX = cute.make_rmem_tensor((tXgX.shape[0], 1, share), element)  # a step
    tXrR = cute.make_rmem_tensor((tXgX.shape[0], 1, rest), element)  # what steps leave
    rK = cute.make_rmem_tensor(width, element)
    tXrR.fill(-element.inf)
    rK.fill(-element.inf)
    warps = lanes * block_rows // 32
    lists = cute.make_layout((warps, 32), stride=(32, 1))
    sBest = cute.make_tensor(cute.arch.alloc_smem(Int64, warps * 32, 16), lists)
    sMost = cute.make_tensor(cute.arch.alloc_smem(Int64, warps * 32, 16), lists)

    top, at = -Float32.inf, tXcX[(0, 0), 0, 0][1]
    for step in cutlass.range(steps, unroll=1):
        load_chunks(copy, tXgX, tXcX, tXrX, step * share, columns, share)
        top, at = best_more(tXrX, tXcX, step * share, top, at, rK)
    load_chunks(copy, tXgX, tXcX, tXrR, steps * share, columns, certain - steps * share)
    top, at = best_more(tXrR, tXcX, steps * share, top, at, rK)
    best = row_merge(lane_sort(best_place(top, at, rK)), lanes, sBest)
    bound = cute.arch.shuffle_sync(best, k - 1)

    chunks = cute.size(tXgX, mode=[2])
    most = Int64(-(1 << 63))
    for turn in cutlass.range(-(-k * chunks // lanes), unroll=1):
        piece = turn * lanes + lane
        owner = ranked_column(cute.arch.shuffle_sync(best, piece % k)) // width % lanes
        theirs = copy.get_slice(owner)
        tYgX, tYcX = theirs.partition_S(gX), theirs.partition_S(cX)
        chunk = min(piece // k, chunks - 1)
        column = tYcX[(0, 0), 0, chunk][1]
        exists = (piece < k * chunks) & (column < columns)
        tYrX = cute.make_rmem_tensor((tXgX.shape[0], 1, 1), element)
        tYrX.fill(-element.inf)
        if exists:
            cute.copy(copy, tYgX[None, None, chunk], tYrX[None, None, 0])
        for i in cutlass.range_constexpr(width):
            number = ranked(Float32(tYrX[(i, 0), 0, 0]), column + i)
            wanted = Int32(cute.arch.vote_ballot_sync(exists & (number >= bound)))
            while wanted != 0:
                source = 31 - Int32(cute.arch.clz(wanted))
                most = lane_insert(most, cute.arch.shuffle_sync(number, source))
                wanted = wanted ^ (1 << source)
    most = row_merge(most, lanes, sMost)
    if lane < k and row < mX.shape[0]:
        mV[row, lane] = element(ranked_value(most))
        mI[row, lane] = mI.element_type(ranked_column(most))


@cute.jit
def top_k_launch(
    pV: cute.Pointer,
    pI: cute.Pointer,
    pX: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    k: cutlass.Constexpr,
    columns: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    share: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(pX, rows, columns, x_stride, width)
    mV, mI = (row_view(p, rows, k, Int64(k), 1) for p in (pV, pI))
    top_k_kernel(mX, mV, mI, k, width, lanes, block_rows, share).launch(
        grid=((rows + block_rows - 1) // block_rows, 1, 1), block=(lanes * block_rows, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, index, k, columns, width, lanes, block_rows, share, capability):
    kind, pI = ELEMENTS[dtype], device_pointer(0, INDICES[index], 1)
    return cute.compile(
        top_k_launch, device_pointer(0, kind, 1), pI, device_pointer(0, kind, width), Int32(0), Int64(0),
        k, columns, width, lanes, block_rows, share, make_fake_stream(),
    )  # fmt: skip


def compile_top_k(dtype, index_dtype, k, rows, columns, width=0, device=NO_DEVICE, share=SHARE, plan=None):
    """The compiled launcher for these facts; width 0 is the widest that `columns` allows. `plan` replaces
    (lanes, rows of a block, vectors of 128 bits that a thread has under way)."""
    multiprocessors, capability = device
    bits = ELEMENTS[dtype].width
    width = width or vector_width(bits, columns)
    if plan is None:
        lanes, block_rows, _ = row_spread(-(-columns * bits // 128), rows, multiprocessors, 1, 0)
        plan = max(32, lanes), max(1, lanes * block_rows // max(32, lanes)), share
    lanes, block_rows, share = plan
    share = share * 128 // bits // width
    return _compiled(dtype, index_dtype, k, columns, width, lanes, block_rows, share, capability)


def top_k(
    values: torch.Tensor | int,
    indices: torch.Tensor | int,
    x: torch.Tensor | int,
    rows: int,
    columns: int,
    k: int,
    x_stride: int,
    *,
    dtype: str,
    index_dtype: str,
    stream: int | None = None,
    share: int = SHARE,
) -> None:
    """The k largest of each of `rows` rows. Tensors or device addresses; `index_dtype` is i32 or i64;
    `stream` defaults to torch's current one. ValueError where k is none of 1 … min(32, columns)."""
    if not 1 <= k <= min(32, columns):
        raise ValueError(f"k = {k}: 1 to {min(32, columns)} are possible")
    if rows == 0:
        return
    kind = ELEMENTS[dtype]
    width = vector_width(kind.width, columns, x_stride, address_of(x) * 8 // kind.width)
    compile_top_k(dtype, index_dtype, k, rows, columns, width, device_facts(), share)(
        device_pointer(values, kind, 1), device_pointer(indices, INDICES[index_dtype], 1),
        device_pointer(x, kind, width), Int32(rows), Int64(x_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
