"""Cross-entropy of rows of logits: loss = lse - x[target], lse = log Σ e^x; with label smoothing s
loss = (1 - s) · (lse - x[target]) + s · (lse - mean(x)).

Shapes: x is `rows` rows of `classes` logits (1,024 … 262,144 is what it is tuned for), `x_stride` elements
apart: bf16, fp16 or fp32. target (rows,) is i32 or i64; loss and lse (rows,) are fp32, as are all sums.

Algorithm: one read, nothing kept. A block, or with fewer rows than multiprocessors a cluster of up to 8
blocks, sweeps a row in steps of `share` 128-bit accesses a thread:

    chunk of a row   │ block 0: lane 0 … lane n │ block 1: lane 0 … lane n │ …      step: `share` chunks
    gX ─→ rX ─→ (most, total) of a thread ─ lanes ─ warps ─ blocks ─→ lse ─→ loss, with x[target] of its own

A row whose target is `ignore_index` has loss 0. Other targets must be classes. A row with NaN or +∞ has lse
and loss NaN; one of only -∞ has lse -∞ and loss NaN, as torch's cross_entropy.

Units: x_stride in elements. Traffic: rows · classes · bytes of an element, and 12 or 16 bytes a row.
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
MANY_ROWS = 256  # threads of a block at most where there are more rows than multiprocessors: nothing is kept


@cute.kernel
def cross_entropy_kernel(
    mX: cute.Tensor,
    mT: cute.Tensor,
    mL: cute.Tensor,
    mE: cute.Tensor,
    ignore_index: Int64,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    share: cutlass.Constexpr,
    smoothing: cutlass.Constexpr,
):
    cluster_begin(blocks)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    element, classes = mX.element_type, mX.shape[1]
    copy, tile = row_tiles(element, classes, width, lanes * blocks)
    rank, row = block % blocks, block // blocks * block_rows + thread // lanes
    mine = copy.get_slice(rank * lanes + thread % lanes)
    last = min(row, mX.shape[0] - 1)  # beyond the end: the last row again, for nothing
    gX = cute.local_tile(mX, tile, (last, 0))
    cX = cute.local_tile(cute.make_identity_tensor((1, classes)), tile, (0, 0))
    tXgX, tXcX = mine.partition_S(gX), mine.partition_S(cX)
    certain, steps, rest = row_steps(classes, lanes * blocks * width, share)
    tXrX = cute.make_rmem_tensor((tXgX.shape[0], 1, share), element)  # a step
    tXrR = cute.make_rmem_tensor((tXgX.shape[0], 1, rest), element)  # what steps leave
    tXrR.fill(-element.inf)
    sPart = cute.make_tensor(cute.arch.alloc_smem(Float32, 64, 16), cute.make_layout((2, 32), stride=(32, 1)))
    sFrom = cute.make_tensor(cute.arch.alloc_smem(Float32, 16, 16), cute.make_layout((2, 8), stride=(8, 1)))
    sPlain = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))
    sPlains = cute.make_tensor(cute.arch.alloc_smem(Float32, 8, 16), cute.make_layout(8))

    target, most, total, plain = Int64(mT[last]), -Float32.inf, Float32(0.0), Float32(0.0)
    for step in cutlass.range(steps, unroll=1):
        load_chunks(copy, tXgX, tXcX, tXrX, step * share, classes, share)
        x = tXrX.load().to(Float32)
        most, total = softmax_more(x, most, total)
        if cutlass.const_expr(smoothing > 0):
            plain += x.reduce(cute.ReductionOp.ADD, 0.0, 0)
    load_chunks(copy, tXgX, tXcX, tXrR, steps * share, classes, certain - steps * share)
    most, total = softmax_more(tXrR.load().to(Float32), most, total)
    if cutlass.const_expr(smoothing > 0):
        for j in cutlass.range_constexpr(rest):
            if tXcX[(0, 0), 0, steps * share + j][1] < classes:
                plain += tXrR[None, 0, j].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
    hit = Float32(0.0)
    if thread % lanes == 0 and target != ignore_index:
        hit = Float32(mX[last, target])
    most, total = softmax_reduce(most, total, lanes, blocks, sPart, sFrom)
    lse = most + cute.math.log(total)
    loss = lse - hit
    if cutlass.const_expr(smoothing > 0):
        plain = row_reduce(plain, operator.add, lanes, sPlain)
        cluster_begin(blocks)
        plain = cluster_reduce(plain, operator.add, blocks, sPlains)
        loss = (1.0 - smoothing) * loss + smoothing * (lse - plain * (1.0 / classes))
    if thread % lanes == 0 and rank == 0 and row < mX.shape[0]:
        mE[row] = lse
        mL[row] = cutlass.select_(target == ignore_index, Float32(0.0), loss)


@cute.jit
def cross_entropy_launch(
    pL: cute.Pointer,
    pE: cute.Pointer,
    pX: cute.Pointer,
    pT: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    ignore_index: Int64,
    classes: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    share: cutlass.Constexpr,
    smoothing: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(pX, rows, classes, x_stride, width)
    mL, mE, mT = (cute.make_tensor(p, cute.make_layout(rows)) for p in (pL, pE, pT))
    cross_entropy_kernel(
        mX, mT, mL, mE, ignore_index, width, lanes, block_rows, blocks, share, smoothing
    ).launch(
        grid=((rows + block_rows - 1) // block_rows * blocks, 1, 1),
        block=(lanes * block_rows, 1, 1),
        cluster=(blocks, 1, 1) if cutlass.const_expr(blocks > 1) else None,
        stream=stream,
    )


@functools.cache
def _compiled(dtype, index, classes, width, lanes, block_rows, blocks, share, smoothing, capability):
    pX, pT = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, INDICES[index], 1)
    pL = device_pointer(0, Float32, 1)
    return cute.compile(
        cross_entropy_launch, pL, pL, pX, pT, Int32(0), Int64(0), Int64(0),
        classes, width, lanes, block_rows, blocks, share, smoothing, make_fake_stream(),
    )  # fmt: skip


def compile_cross_entropy(
    dtype, index_dtype, rows, classes, smoothing, width=0, device=NO_DEVICE, share=SHARE, plan=None
):
    """The compiled launcher for these facts; width 0 is the widest that `classes` allows. `plan` replaces
    (lanes, rows of a block, blocks of a cluster, vectors of 128 bits that a thread has under way)."""
    (multiprocessors, capability), bits = device, ELEMENTS[dtype].width
    width = width or vector_width(bits, classes)
    if plan is None:
        most_blocks = 8 if capability >= 90 else 1
        lanes, *others = row_spread(-(-classes * bits // 128), rows, multiprocessors, most_blocks, 0)
        plan = min(lanes, MANY_ROWS) if rows > multiprocessors else lanes, *others, share
    chunks = plan[3] * 128 // bits // width
    return _compiled(dtype, index_dtype, classes, width, *plan[:3], chunks, smoothing, capability)


def cross_entropy(
    loss: torch.Tensor | int,
    lse: torch.Tensor | int,
    x: torch.Tensor | int,
    target: torch.Tensor | int,
    smoothing: float,
    rows: int,
    classes: int,
    x_stride: int,
    ignore_index: int,
    *,
    dtype: str,
    index_dtype: str,
    stream: int | None = None,
    share: int = SHARE,
) -> None:
    """Loss and log-sum-exp of `rows` rows. Tensors or device addresses; `index_dtype` is i32 or i64, that of
    target; `stream` defaults to torch's current one."""
    if rows == 0:
        return
    kind = ELEMENTS[dtype]
    width = vector_width(kind.width, classes, x_stride, address_of(x) * 8 // kind.width)
    compile_cross_entropy(dtype, index_dtype, rows, classes, smoothing, width, device_facts(), share)(
        device_pointer(loss, Float32, 1), device_pointer(lse, Float32, 1),
        device_pointer(x, kind, width), device_pointer(target, INDICES[index_dtype], 1),
        Int32(rows), Int64(x_stride), Int64(ignore_index),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
