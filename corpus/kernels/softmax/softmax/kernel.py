"""Softmax of rows: out = e^(x - m) / Σ e^(x - m), m = max(x); or its logarithm, x - m - log Σ e^(x - m).

Shapes: x and out are `rows` rows of `columns` elements (32 … 262,144 is what it is tuned for), `x_stride` and
`out_stride` elements apart. Both of one type: bf16, fp16 or fp32; sums in fp32.

Algorithm: one read. A row lives in the registers of its threads, which are lanes of a warp, a block, or for
long rows a cluster of up to 8 blocks that meet through distributed shared memory:

    chunk of a row   │ block 0: lane 0 … lane 511 │ block 1: lane 0 … lane 511 │ …     128 bits a lane
    gX ─→ rX (all chunks) ─ (most, total) of a thread ─ lanes ─ warps ─ blocks ─→ e^(rX - most) / total ─→ gO

What even a cluster can't hold is swept twice in steps of `share` chunks. The thread's own pair is made online
(softmax_reduce), so that maximum and sum need one barrier; the exponentials are made again for the result,
since keeping them would take twice the registers of a bf16 row.

A row with NaN or +∞, or of only -∞, is all NaN, as torch's.

Units: strides in elements. Traffic: 2 · rows · columns · bytes of an element; 3 for 2 where swept twice.
Source of the technique: online softmax of Milakov and Gimelshein (2018); clusters a row as in quack.
"""

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


# -- block lane_reduce 2f92a86e78c1
@cute.jit
def lane_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result over each group of `lanes` (a power of two up to 32) lanes, in all of them."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        value = operation(value, cute.arch.shuffle_sync_bfly(value, lanes >> (step + 1)))
    return value


# -- end of lane_reduce


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

# -- block softmax_reduce 7bf19ca6c9e4
LOG2_E = 1.4426950408889634


@cute.jit
def lowered(most, top):
    """e^(most - top), by which a sum beside `most` is multiplied to stand beside `top`; 1 where equal."""
    scale = cute.math.exp2((most - top) * LOG2_E, fastmath=True)
    return cutlass.select_(most == top, Float32(1.0), scale)


@cute.jit
def softmax_more(x, most, total):
    """The pair with the values `x` (fp32, a thread's vector) taken in."""
    top = cute.arch.fmax(most, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
    base = cutlass.select_(top == -Float32.inf, Float32(0.0), top)
    more = cute.math.exp2((x - base) * LOG2_E, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)
    return top, total * lowered(most, top) + more


@cute.jit
def softmax_lanes(most, total, lanes: cutlass.Constexpr):
    """The pair over each group of `lanes` lanes, in all of them."""
    top = lane_reduce(most, cute.arch.fmax, lanes)
    return top, lane_reduce(total * lowered(most, top), operator.add, lanes)


@cute.jit
def softmax_reduce(most, total, lanes: cutlass.Constexpr, blocks: cutlass.Constexpr, sPart, sFrom):
    """The pair over the `lanes` threads of a row in each of `blocks` blocks, in all of them. `sPart` (2,
    warps) and `sFrom` (2, blocks), fp32, are used above 32 lanes and one block."""
    most, total = softmax_lanes(most, total, min(lanes, 32))
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        if lane == 0:
            sPart[0, warp], sPart[1, warp] = most, total
        cute.arch.sync_threads()
        mine = warp // warps * warps + lane % warps
        most, total = softmax_lanes(sPart[0, mine], sPart[1, mine], warps)
    if cutlass.const_expr(blocks > 1):
        sMost, sTotal = sFrom[0, None], sFrom[1, None]
        cluster_share((most, total), blocks, (sMost, sTotal))
        rank = cute.arch.lane_idx() % blocks
        most, total = softmax_lanes(sMost[rank], sTotal[rank], blocks)
    return most, total


# -- end of softmax_reduce

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
# -- block long_spread 59d3e4214b85
def long_spread(
    vectors: int, rows: int, multiprocessors: int, most_blocks: int, share: int
) -> tuple[int, int]:
    """(threads of a block, blocks of a row, a power of two)."""
    lanes, blocks, room = WIDE, 1, 3 * multiprocessors // 4
    few = rows <= room
    least = 1 if few else share
    while blocks < most_blocks and blocks * WIDE * least < vectors and (blocks * rows <= room or not few):
        blocks *= 2
    while lanes < WIDEST and blocks == most_blocks and blocks * lanes * share < vectors:
        lanes *= 2
    return lanes, blocks


# -- end of long_spread

# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts

HOLD = 32  # elements that a thread keeps: so 1024 threads, of two blocks mostly, fit a multiprocessor


@cute.kernel
def softmax_kernel(
    mX: cute.Tensor,
    mO: cute.Tensor,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    share: cutlass.Constexpr,
    log: cutlass.Constexpr,
):
    cluster_begin(blocks)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    element, columns = mX.element_type, mX.shape[1]
    copy, tile = row_tiles(element, columns, width, lanes * blocks)
    mine = copy.get_slice(block % blocks * lanes + thread % lanes)
    row = block // blocks * block_rows + thread // lanes
    last = min(row, mX.shape[0] - 1)  # beyond the end: the last row again, for nothing
    gX, gO = cute.local_tile(mX, tile, (last, 0)), cute.local_tile(mO, tile, (last, 0))
    cX = cute.local_tile(cute.make_identity_tensor((1, columns)), tile, (0, 0))
    tXgX, tXgO, tXcX = mine.partition_S(gX), mine.partition_D(gO), mine.partition_S(cX)
    certain, steps, rest = row_steps(columns, lanes * blocks * width, share)
    shape = tXgX.shape[0], 1
    tXrX = cute.make_rmem_tensor((*shape, share), element)  # a step
    tXrR = cute.make_rmem_tensor((*shape, rest), element)  # the rest, all of a row that is held
    tXrR.fill(-element.inf)
    sPart = cute.make_tensor(cute.arch.alloc_smem(Float32, 64, 16), cute.make_layout((2, 32), stride=(32, 1)))
    sFrom = cute.make_tensor(cute.arch.alloc_smem(Float32, 16, 16), cute.make_layout((2, 8), stride=(8, 1)))

    most, total = -Float32.inf, Float32(0.0)
    for step in cutlass.range(steps, unroll=1):
        load_chunks(copy, tXgX, tXcX, tXrX, step * share, columns, share)
        most, total = softmax_more(tXrX.load().to(Float32), most, total)
    load_chunks(copy, tXgX, tXcX, tXrR, steps * share, columns, certain - steps * share)
    most, total = softmax_more(tXrR.load().to(Float32), most, total)
    most, total = softmax_reduce(most, total, lanes, blocks, sPart, sFrom)

    scale, minus = 1.0 / total, cute.math.log(total)
    if row < mX.shape[0]:
        tXrR.store(finished(tXrR.load().to(Float32), most, scale, minus, log).to(element))
        store_chunks(copy, tXrR, tXgO, tXcX, steps * share, columns, certain - steps * share)
        for step in cutlass.range(steps, unroll=1):
            load_chunks(copy, tXgX, tXcX, tXrX, step * share, columns, share)
            tXrX.store(finished(tXrX.load().to(Float32), most, scale, minus, log).to(element))
            store_chunks(copy, tXrX, tXgO, tXcX, step * share, columns, share)


@cute.jit
def finished(x, most, scale, minus, log: cutlass.Constexpr):
    """The results of values `x`, from the row's maximum, 1 / total and log(total)."""
    if cutlass.const_expr(log):
        x = (x - most) - minus
    else:
        x = cute.math.exp2((x - most) * LOG2_E, fastmath=True) * scale
    return x


@cute.jit
def softmax_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    out_stride: Int64,
    columns: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    share: cutlass.Constexpr,
    log: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mO = row_view(pX, rows, columns, x_stride, width), row_view(pO, rows, columns, out_stride, width)
    softmax_kernel(mX, mO, width, lanes, block_rows, blocks, share, log).launch(
        grid=((rows + block_rows - 1) // block_rows * blocks, 1, 1),
        block=(lanes * block_rows, 1, 1),
        cluster=(blocks, 1, 1) if cutlass.const_expr(blocks > 1) else None,
        stream=stream,
    )


@functools.cache
def _compiled(dtype, columns, width, lanes, block_rows, blocks, share, log, capability):
    pointer = device_pointer(0, ELEMENTS[dtype], width)
    return cute.compile(
        softmax_launch, pointer, pointer, Int32(0), Int64(0), Int64(0),
        columns, width, lanes, block_rows, blocks, share, log, make_fake_stream(),
    )  # fmt: skip


def plan_of(vectors, rows, multiprocessors, most_blocks, hold, full):
    """(lanes of a row in each block, rows of a block, blocks of a row, elements that a thread holds)."""
    if vectors <= LONG:
        return *row_spread(vectors, rows, multiprocessors, most_blocks, hold // full), hold
    lanes, blocks = long_spread(vectors, rows, multiprocessors, most_blocks, hold // 4)
    return lanes, 1, blocks, hold


def compile_softmax(
    dtype, rows, columns, log, width=0, device=NO_DEVICE, most_blocks=8, hold=HOLD, plan=None
):
    """The compiled launcher for these facts; width 0 is the widest that `columns` allows. `plan` replaces
    (lanes, rows of a block, blocks of a cluster, elements that a thread holds)."""
    multiprocessors, capability = device
    full = 128 // ELEMENTS[dtype].width
    width = width or vector_width(ELEMENTS[dtype].width, columns)
    most_blocks = most_blocks if capability >= 90 else 1
    lanes, block_rows, blocks, hold = plan or plan_of(
        -(-columns // full), rows, multiprocessors, most_blocks, hold, full
    )
    return _compiled(dtype, columns, width, lanes, block_rows, blocks, hold // width, log, capability)


def softmax(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    rows: int,
    columns: int,
    x_stride: int,
    out_stride: int,
    log: int,
    *,
    dtype: str,
    stream: int | None = None,
    most_blocks: int = 8,
    hold: int = HOLD,
) -> None:
    """Softmax, or with `log` its logarithm, of `rows` rows. Tensors or device addresses; `stream` defaults to
    torch's current one. `most_blocks` 1 does without clusters; `hold` is how many elements a
    thread keeps, a multiple of those in 128 bits."""
    if rows == 0:
        return
    kind = ELEMENTS[dtype]
    starts = [address_of(t) * 8 // kind.width for t in (out, x)]
    width = vector_width(kind.width, columns, x_stride, out_stride, *starts)
    compile_softmax(dtype, rows, columns, log, width, device_facts(), most_blocks, hold)(
        *(device_pointer(t, kind, width) for t in (out, x)),
        Int32(rows), Int64(x_stride), Int64(out_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
