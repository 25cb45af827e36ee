"""A token of each row of logits, drawn from the most probable ones, which together have top_p of all.

    weight[i] = ⌊2^30 · e^((x[i] - m) / temperature)⌉, m = max(x); 2^30 where x[i] = m, 0 where x[i] is NaN
    kept      = { i : weight[i] ≥ w }, w the largest weight for which they weigh ⌊top_p · total⌋ or more
    index     = the first i up to which the kept ones weigh more than ⌊uniform · weight of all kept⌋

Weights are whole numbers and sums have 64 bits: no sum depends on its order, and whoever makes weights in
fp32 this way draws the same token. Both products are made in fp64 and cut. Of equal weights all are kept or
none. The heaviest are always kept, alone where top_p is 0; with a temperature of 0, or where one is +∞, only
the largest weigh anything. Of nothing but NaN the index is -1.

Shapes: x is `rows` rows of `columns` logits (1,024 … 262,144), `x_stride` apart, bf16, fp16 or fp32;
temperature, top_p (above 1: as 1) and uniform (from 0 to 1) are one fp32 a row, index is one i32 or i64.

Algorithm: one read. The weights of a row stay in the registers of a block, or of a cluster of up to 8 blocks
that meet through distributed shared memory. w is found by bisection (weight_threshold), the element by sums
of blocks, of warps in each chunk and of lanes (sum_place):

    row   │ block 0: chunk 0, chunk 1, … │ block 1: chunk 0, … │ …         chunk: a vector of each thread
    gX ─→ m ─→ rW ─→ total ─→ w and the sum from w on ─→ target ─→ place in rW of one thread ─→ index

Units: stride in elements. Traffic: rows · columns · bytes of a logit.
Source of the technique: selection by bisection, as in samplers without a sort.
"""

import functools
import operator
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Float64, Int16, Int32, Int64, Numeric
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
# -- block load_if 88c0167c5857
@cute.jit
def load_if(tXgX: cute.Tensor, exists):
    """A thread's one access `tXgX` of global memory in registers; zeros where `exists` does not hold."""
    tXrX = cute.make_fragment_like(tXgX)
    bits = cute.size(tXgX) * tXgX.element_type.width
    word = Int32 if cutlass.const_expr(bits >= 32) else Int16
    count = bits // word.width
    rW = cute.make_tensor(cute.recast_ptr(tXrX.iterator, dtype=word), cute.make_layout(count))
    names = ["{$w" + str(k) + "}" for k in range(count)]
    vector = "{" + ", ".join(names) + "}" if cutlass.const_expr(count > 1) else names[0]
    size = f"b{word.width}" if cutlass.const_expr(count == 1) else f"v{count}.b32"
    zeros = " ".join(f"mov.b{word.width} {name}, 0;" for name in names)
    code = f"setp.ne.s32 p, {{$r1}}, 0; {zeros} @p ld.global.nc.{size} {vector}, [{{$r0}}];"
    loaded = cute.arch.inline_ptx(
        "{ .reg .pred p; " + code + " }",
        write_only_types=[word] * count,
        read_only_args=[tXgX.iterator, Int32(exists)],
    )
    for k in cutlass.range_constexpr(count):
        rW[k] = loaded[k] if cutlass.const_expr(count > 1) else loaded
    return tXrX


# -- end of load_if
# -- block lane_reduce 2f92a86e78c1
@cute.jit
def lane_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result over each group of `lanes` (a power of two up to 32) lanes, in all of them."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        value = operation(value, cute.arch.shuffle_sync_bfly(value, lanes >> (step + 1)))
    return value


# -- end of lane_reduce
# -- block lane_scan 2a8ce150ee72
@cute.jit
def lane_scan(value, kind: cutlass.Constexpr):
    """`value` is of type `kind`: (sum of the lanes before this one, sum of all)."""
    lane = cute.arch.lane_idx()
    for step in cutlass.range_constexpr(5):
        earlier = cute.arch.shuffle_sync_up(value, 1 << step, mask_and_clamp=0)
        value = cutlass.select_(lane >= 1 << step, value + earlier, value)
    before = cute.arch.shuffle_sync_up(value, 1, mask_and_clamp=0)
    return cutlass.select_(lane == 0, kind(0), before), cute.arch.shuffle_sync(value, 31)


# -- end of lane_scan
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
# -- block reduce_together d2257212803e
REDUX = {operator.add: "add", min: "min", max: "max"}


@cute.jit
def lanes_together(values, operations: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result of each of `values` by its operation over each group of `lanes` lanes, in all of them."""
    results = []
    for value, operation in zip(values, operations, strict=True):
        if cutlass.const_expr(lanes == 32 and type(value) is Int32 and operation in REDUX):
            results.append(cute.arch.warp_redux_sync(value, REDUX[operation]))
        else:
            results.append(lane_reduce(value, operation, lanes))
    return results


@cute.jit
def reduce_together(
    values, operations: cutlass.Constexpr, lanes: cutlass.Constexpr, blocks: cutlass.Constexpr, sParts, sFroms
):
    """The result of each of `values` by its operation over the `lanes` threads of a row in each of `blocks`
    blocks, in all of them."""
    values = lanes_together(values, operations, min(lanes, 32))
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        if lane == 0:
            for value, sPart in zip(values, sParts, strict=True):
                sPart[warp] = value
        cute.arch.sync_threads()
        mine = warp // warps * warps + lane % warps
        values = lanes_together([s[mine] for s in sParts], operations, warps)
    if cutlass.const_expr(blocks > 1):
        cluster_share(values, blocks, sFroms)
        rank = cute.arch.lane_idx() % blocks
        values = lanes_together([s[rank] for s in sFroms], operations, blocks)
    return values


# -- end of reduce_together
# -- block whole_weight e15a8b2842c8
LOG2_E = 1.4426950408889634
MOST_WEIGHT = 1 << 30


@cute.jit
def whole_weight(x, most, scale):
    """The weight of a logit `x` (fp32) in a row whose maximum is `most`, an Int32."""
    power = cute.math.exp2((x - most) * scale, fastmath=True) * float(MOST_WEIGHT)
    weight = cute.arch.inline_ptx(
        "cvt.rni.s32.f32 {$w0}, {$r0};", write_only_types=[Int32], read_only_args=[power]
    )
    return cutlass.select_(x == most, Int32(MOST_WEIGHT), weight)


# -- end of whole_weight
# -- block weight_threshold 509d1a58f708
@cute.jit
def kept_sum(rW: cute.Tensor, least):
    """The sum of the thread's weights that are `least` or more."""
    total = Int64(0)
    for k in cutlass.range_constexpr(cute.size(rW)):
        total += Int64(cutlass.select_(rW[k] >= least, rW[k], Int32(0)))
    return total


@cute.jit
def between(low, high):
    """A weight above `low` and up to `high`, in the middle by the bits of both as floats."""
    a, b = Float32(low).bitcast(Int32), Float32(high).bitcast(Int32)
    return min(max(Int32((a + (b - a) // 2).bitcast(Float32)), low + 1), high)


@cute.jit
def weight_threshold(
    rW: cute.Tensor, need, total, lanes: cutlass.Constexpr, blocks: cutlass.Constexpr, sParts, sFroms
):
    """(w, sum of the row's weights from w on). `total` is the sum of all, `need` from 1 to it; (1, 0) where
    nothing weighs. `sParts` and `sFroms` are those of `reduce_together`, (2, …), Int64, Int32 and Int32."""
    low, high, kept, turn = Int32(1), Int32(MOST_WEIGHT), total, Int32(0)
    while low < high:
        cluster_begin(blocks)
        pivot, turn = between(low, high), 1 - turn
        enough, least, below = kept_sum(rW, pivot), Int32(MOST_WEIGHT), Int32(0)
        for k in cutlass.range_constexpr(cute.size(rW)):
            inside = rW[k] >= pivot
            least = min(least, cutlass.select_(inside, rW[k], Int32(MOST_WEIGHT)))
            below = max(below, cutlass.select_(inside, Int32(0), rW[k]))
        sNow, sThere = [s[turn, None] for s in sParts], [s[turn, None] for s in sFroms]
        values, operations = (enough, least, below), (operator.add, min, max)
        enough, least, below = reduce_together(values, operations, lanes, blocks, sNow, sThere)
        if enough >= need:
            low, kept = least, enough
        else:
            high = below
    return low, kept


# -- end of weight_threshold
# -- block sum_place ca53afb7931e
@cute.jit
def sum_place(rW: cute.Tensor, target, blocks: cutlass.Constexpr, sChunk, sBlock):
    """The place in `rW`, chunk · width + element, in the thread whose element it is; -1 in all others.
    `target` is from 0 to the row's sum - 1; `sChunk` (chunks, warps) and `sBlock` (blocks,) are Int64."""
    thread, _, _ = cute.arch.thread_idx()
    warp, lane, (chunks, width), warps = thread // 32, thread % 32, rW.shape, sChunk.shape[1]
    for j in cutlass.range_constexpr(chunks):
        part = lane_reduce(kept_sum(rW[j, None], 1), operator.add, 32)
        if lane == 0:
            sChunk[j, warp] = part
    cute.arch.sync_threads()
    before, found = Int64(0), Int32(-1)
    if cutlass.const_expr(blocks > 1):
        cluster_begin(blocks)
        own = Int64(0)
        for j in cutlass.range_constexpr(chunks):
            own += lane_reduce(sChunk[j, lane % warps], operator.add, warps)
        cluster_share((own,), blocks, (sBlock,))
        earlier = lane % blocks < cute.arch.block_idx_in_cluster()
        before = lane_reduce(cutlass.select_(earlier, sBlock[lane % blocks], Int64(0)), operator.add, blocks)
    for j in cutlass.range_constexpr(chunks):
        part = sChunk[j, lane % warps]
        earlier = cutlass.select_(lane % warps < warp, part, Int64(0))
        running = before + lane_reduce(earlier, operator.add, warps)
        before += lane_reduce(part, operator.add, warps)
        if running <= target and target < running + sChunk[j, warp]:
            running += lane_scan(kept_sum(rW[j, None], 1), Int64)[0]
            for k in cutlass.range_constexpr(width):
                if running <= target and target < running + Int64(rW[j, k]):
                    found = Int32(j * width + k)
                running += Int64(rW[j, k])
    return found


# -- end of sum_place
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
# Elements of a thread where rows are few, and at most: some 25 registers spill at 32 of them, 1024 threads
SHARE, HOLD = 8, 32
LEAST, WIDE, WIDEST = 128, 256, 1024  # threads of a block: at least, without a cluster, at most


def room(kind, *shape):
    """Shared memory for a tensor of numbers, its last extent contiguous."""
    layout = cute.make_ordered_layout(shape, tuple(reversed(range(len(shape)))))
    return cute.make_tensor(cute.arch.alloc_smem(kind, cute.size(layout), 16), layout)


@cute.kernel
def top_p_sample_kernel(
    mX: cute.Tensor,
    mTemperature: cute.Tensor,
    mTopP: cute.Tensor,
    mUniform: cute.Tensor,
    mI: cute.Tensor,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    chunks: cutlass.Constexpr,
):
    cluster_begin(blocks)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row, rank, columns = block // blocks, block % blocks, mX.shape[1]
    mine = row_tiles(mX.element_type, columns, width, threads)[0].get_slice(thread)
    tile = 1, threads * width * chunks
    tXgX = mine.partition_S(cute.local_tile(mX, tile, (row, rank)))
    tXcX = mine.partition_S(cute.local_tile(cute.make_identity_tensor((1, columns)), tile, (0, rank)))
    temperature, top_p, uniform = mTemperature[row], mTopP[row], mUniform[row]
    sMost, sMosts = (room(Float32, n) for n in (32, 8))
    sParts, sFroms = ([room(kind, 2, n) for kind in (Int64, Int32, Int32)] for n in (32, 8))
    sChunk, sBlock = room(Int64, chunks, threads // 32), room(Int64, 8)

    exists = [tXcX[(0, 0), 0, j][1] < columns for j in range(chunks)]
    rX = [load_if(tXgX[None, 0, j], exists[j]) for j in range(chunks)]
    rF = cute.make_rmem_tensor(cute.make_layout((chunks, width), stride=(width, 1)), Float32)
    rW = cute.make_rmem_tensor(rF.layout, Int32)
    most = -Float32.inf
    for j in cutlass.range_constexpr(chunks):
        for k in cutlass.range_constexpr(width):
            rF[j, k] = cutlass.select_(exists[j], Float32(rX[j][k]), Float32(float("nan")))
            most = cute.arch.fmax(most, rF[j, k])
    (most,) = reduce_together((most,), (cute.arch.fmax,), threads, blocks, (sMost,), (sMosts,))
    scale = LOG2_E / temperature
    for k in cutlass.range_constexpr(cute.size(rF)):
        rW[k] = whole_weight(rF[k], most, scale)
    cluster_begin(blocks)
    sums, sPart, sFrom = (kept_sum(rW, 1),), sParts[0][0, None], sFroms[0][0, None]
    (total,) = reduce_together(sums, (operator.add,), threads, blocks, (sPart,), (sFrom,))

    need = max(min(Int64(Float64(top_p) * Float64(total)), total), Int64(1))
    least, kept = weight_threshold(rW, need, total, threads, blocks, sParts, sFroms)
    target = min(Int64(Float64(uniform) * Float64(kept)), kept - 1)
    for k in cutlass.range_constexpr(cute.size(rW)):
        rW[k] = cutlass.select_(rW[k] >= least, rW[k], Int32(0))
    place = sum_place(rW, target, blocks, sChunk, sBlock)
    if place >= 0:
        column = tXcX[(0, 0), 0, 0][1] + place // width * (threads * width) + place % width
        mI[row] = mI.element_type(column)
    if total == 0 and rank == 0 and thread == 0:
        mI[row] = mI.element_type(-1)


@cute.jit
def top_p_sample_launch(
    pI: cute.Pointer,
    pX: cute.Pointer,
    pTemperature: cute.Pointer,
    pTopP: cute.Pointer,
    pUniform: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    columns: cutlass.Constexpr,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    chunks: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(pX, rows, columns, x_stride, width)
    facts = [cute.make_tensor(p, cute.make_layout(rows)) for p in (pTemperature, pTopP, pUniform, pI)]
    top_p_sample_kernel(mX, *facts, width, threads, blocks, chunks).launch(
        grid=(rows * blocks, 1, 1),
        block=(threads, 1, 1),
        cluster=(blocks, 1, 1) if cutlass.const_expr(blocks > 1) else None,
        stream=stream,
    )


@functools.cache
def _compiled(dtype, index, columns, width, threads, blocks, chunks, capability):
    pX, pI = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, INDICES[index], 1)
    fact = device_pointer(0, Float32, 1)
    return cute.compile(
        top_p_sample_launch, pI, pX, fact, fact, fact, Int32(0), Int64(0),
        columns, width, threads, blocks, chunks, make_fake_stream(),
    )  # fmt: skip


def plan_of(columns, rows, multiprocessors, most_blocks, hold):
    """(threads of a block, blocks of a row). ValueError for rows that do not fit in their registers."""
    few = 2 * rows <= multiprocessors
    share, threads, blocks = SHARE if few else hold, LEAST, 1
    while threads < WIDE and threads * share < columns:
        threads *= 2
    while few and blocks < most_blocks and blocks * threads * share < columns:
        blocks *= 2
        few = 2 * blocks * rows <= multiprocessors
    while threads < WIDEST and blocks * threads * share < columns:
        threads *= 2
    while blocks < most_blocks and blocks * threads * hold < columns:
        blocks *= 2
    if blocks * threads * hold < columns:
        raise ValueError(f"{columns} columns: {blocks} blocks of {threads} threads hold {hold} each")
    return threads, blocks


def compile_top_p_sample(
    dtype, index_dtype, rows, columns, width=0, device=NO_DEVICE, most_blocks=8, hold=HOLD, plan=None
):
    """The compiled launcher for these facts; width 0 is the widest that `columns` allows. `plan` replaces
    (threads of a block, blocks of a row)."""
    width = width or vector_width(ELEMENTS[dtype].width, columns)
    threads, blocks = plan or plan_of(columns, rows, device[0], most_blocks, hold)
    chunks = -(-columns // (threads * blocks * width))
    return _compiled(dtype, index_dtype, columns, width, threads, blocks, chunks, device[1])


def top_p_sample(
    index: torch.Tensor | int,
    x: torch.Tensor | int,
    temperature: torch.Tensor | int,
    top_p: torch.Tensor | int,
    uniform: torch.Tensor | int,
    rows: int,
    columns: int,
    x_stride: int,
    *,
    dtype: str,
    index_dtype: str,
    stream: int | None = None,
    most_blocks: int = 8,
    hold: int = HOLD,
) -> None:
    """One index for each of `rows` rows. Tensors or device addresses; `index_dtype` is i32 or i64, that of
    index; `stream` defaults to torch's current one. ValueError for rows too long to be held: at most
    `most_blocks` blocks of 1024 threads hold `hold` elements a thread."""
    if rows == 0:
        return
    kind = ELEMENTS[dtype]
    width = vector_width(kind.width, columns, x_stride, address_of(x) * 8 // kind.width)
    compile_top_p_sample(
        dtype, index_dtype, rows, columns, width, device_facts(), most_blocks, hold
    )(
        device_pointer(index, INDICES[index_dtype], 1), device_pointer(x, kind, width),
        *(device_pointer(t, Float32, 1) for t in (temperature, top_p, uniform)),
        Int32(rows), Int64(x_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
