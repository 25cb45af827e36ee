"""Dispatch: each token's row of hidden states goes to the rows of its experts.

Every choice (t, k) of an expert e of this rank, 0 ≤ topk_ids[t, k] - first < experts, gets a row of its own:

    counts[e] = choices of e      offsets[e + 1] = offsets[e] + counts[e] rounded up to pad
    slots[t, k] = offsets[e] + choices of e before (t, k), -1 where e is not of this rank
    out[slots[t, k]] = x[t]       with zero_padding, rows of e from counts[e] on are zero; else left as is

Shapes: x is `tokens` rows of `hidden` elements (bf16, fp16 or fp32), `x_stride` apart. topk_ids and slots
(tokens, top_k), counts (experts,), offsets (experts + 1,) and barrier (1,) are int32. out has tokens · top_k
+ experts · (pad - 1) rows. Tuned for 16 … 256 experts (512 fit), top_k up to 8, rows of 2 … 16 KB.

Algorithm: the order of tokens decides, so that the same ids give the same rows. Decode, as long as every part
of every row has a multiprocessor, is one launch; prefill is two, the second of which starts early:

    decode   x ─→ registers │ ids ─ expert_slots, in every block again ─→ slots ─→ 128-bit stores, top_k times
             more choices: one block finds the slots, all others wait at a barrier of the grid
    prefill  ids ─ expert_slots, a cluster of up to 8 blocks ─→ slots
             x ─→ registers │ griddepcontrol.wait ─→ slots ─→ 128-bit stores, top_k times

A block has a row or a part of it, (1, threads · vectors · width), asked for before anything else. experts,
top_k, pad and hidden are compile-time constants. Unaligned addresses, strides, odd sizes: narrower accesses.

Units: strides in elements. Traffic: x once, a row of out for every local choice, and the ids.
Source of the technique: vLLM's alignment of blocks to experts, programmatic dependent launches.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int32, Int64, Numeric, Uint32
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
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
# -- block row_scatter 112529537fd3
SHARES = 8  # of a group's unused rows, each zeroed by another block


@cute.jit
def load_part(
    mX: cute.Tensor, row, part, width: cutlass.Constexpr, threads: cutlass.Constexpr,
    vectors: cutlass.Constexpr,
):  # fmt: skip
    """Start to load a block's part of a row. What comes back is for `write_rows` and `zero_unused`."""
    thread, _, _ = cute.arch.thread_idx()
    copy, tile = row_tiles(mX.element_type, threads * width * vectors, width, threads)
    mine = copy.get_slice(thread)
    cX = cute.local_tile(cute.make_identity_tensor((1, mX.shape[1])), tile, (0, part))
    tXgX = mine.partition_S(cute.local_tile(mX, tile, (row, part)))
    tXpX = in_bounds(mine.partition_S(cX), mX.shape[1])
    tXrX = cute.make_fragment_like(tXgX)
    cute.copy(copy, tXgX, tXrX, pred=tXpX)
    return copy, tile, mine, tXrX, tXpX


@cute.jit
def zero_unused(
    loaded, mO: cute.Tensor, mCounts: cute.Tensor, mOffsets: cute.Tensor, block, blocks, part,
    groups: cutlass.Constexpr,
):  # fmt: skip
    """Zero a block's share of the rows from mOffsets[g] + mCounts[g] to mOffsets[g + 1] of all `groups`; it
    is `block` of `blocks` along the rows. What was loaded is gone."""
    copy, tile, mine, tXrX, tXpX = loaded
    tXrX.fill(0.0)
    for j in cutlass.range((groups * SHARES - block + blocks - 1) // blocks, unroll=1):
        group, share = (block + j * blocks) // SHARES, (block + j * blocks) % SHARES
        start = mOffsets[group] + mCounts[group] + share
        for k in cutlass.range((mOffsets[group + 1] - start + SHARES - 1) // SHARES, unroll=1):
            gO = cute.local_tile(mO, tile, (start + k * SHARES, part))
            cute.copy(copy, tXrX, mine.partition_D(gO), pred=tXpX)


@cute.jit
def write_rows(loaded, mO: cute.Tensor, found, token, tokens, part, blocks, model: cutlass.Constexpr):
    """Store the part at each slot of its token, if there is one; then zero a share of the unused rows, where
    wanted. `found`: (mCounts, mOffsets, mSlots); `model`: (groups, slots of a token, pad, zeroes)."""
    copy, tile, mine, tXrX, tXpX = loaded
    groups, top_k, _, zero = model
    if token < tokens:
        slots = [found[2][token * top_k + k] for k in range(top_k)]
        for k in cutlass.range_constexpr(top_k):
            if slots[k] >= 0:
                gO = cute.local_tile(mO, tile, (slots[k], part))
                cute.copy(copy, tXrX, mine.partition_D(gO), pred=tXpX)
    if cutlass.const_expr(zero):
        zero_unused(loaded, mO, found[0], found[1], token, blocks, part, groups)


# -- end of row_scatter
# -- block grid_barrier 203953255723
SLEEP = 32  # ns between two looks at the word


def co_resident(blocks: int, multiprocessors: int) -> int:
    """`blocks`, if they fit at once whatever registers and shared memory they take: one a multiprocessor.
    ValueError otherwise. Host code."""
    if not 0 < blocks <= multiprocessors:
        raise ValueError(f"{blocks} blocks can't wait for each other on {multiprocessors} multiprocessors")
    return blocks


@cute.jit
def grid_barrier(word: cute.Pointer, blocks):
    """Wait for all `blocks` of the grid. All threads must arrive. `word`: 32 bits of global memory."""
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.sync_threads()
    if thread == 0:
        last = Uint32(2 * blocks - 1)
        cute.arch.inline_ptx("red.release.gpu.global.inc.u32 [{$r0}], {$r1};", read_only_args=[word, last])
        while Uint32(cute.arch.load(word, Uint32, sem="acquire", scope="gpu")) < Uint32(blocks):
            cute.arch.inline_ptx("nanosleep.u32 {$r0};", read_only_args=[Uint32(SLEEP)])
        cute.arch.inline_ptx("red.relaxed.gpu.global.inc.u32 [{$r0}], {$r1};", read_only_args=[word, last])
    cute.arch.sync_threads()


# -- end of grid_barrier
# -- block block_scan 08212dd4ed6d
@cute.jit
def block_scan(value: Int32, sPart: cute.Tensor, warps: cutlass.Constexpr):
    """The sum of `value` over the threads before this one; `sPart` has room for `warps` numbers."""
    thread, _, _ = cute.arch.thread_idx()
    warp, lane = thread // 32, thread % 32
    total = value
    for step in cutlass.range_constexpr(5):
        before = cute.arch.shuffle_sync_up(total, 1 << step, mask_and_clamp=0)
        if lane >= 1 << step:
            total += before
    if lane == 31:
        sPart[warp] = total
    cute.arch.sync_threads()
    earlier = sPart[lane] if lane < warp else Int32(0)
    return total - value + cute.arch.warp_redux_sync(earlier, "add")


# -- end of block_scan
# -- block expert_slots 140feddf7755
def expert_slots_shared(experts: int, warps: int):
    """Shared memory for `expert_slots`: 4 · (warps · (experts + 1) + 2 · experts + 32) bytes."""
    columns = cute.make_layout((warps, experts + 1), stride=(experts + 1, 1))
    layouts = (columns, *(cute.make_layout(n) for n in (experts, experts, 32)))
    return tuple(cute.make_tensor(cute.arch.alloc_smem(Int32, cute.size(at), 16), at) for at in layouts)


@cute.jit
def load_choices(mIds: cute.Tensor, rIds: cute.Tensor, place, choices):
    """Every 32nd id from `place` on into `rIds`; beyond the last one, the last again: loads without branches
    are under way together."""
    for k in cutlass.range_constexpr(cute.size(rIds)):
        rIds[k] = mIds[min(place + 32 * k, choices - 1)]


@cute.jit
def number_choices(
    mIds: cute.Tensor, mSlots: cute.Tensor, sMine: cute.Tensor, sBase: cute.Tensor, rIds: cute.Tensor,
    start, stop, choices, first, local, experts: cutlass.Constexpr, places: cutlass.Constexpr,
):  # fmt: skip
    """A warp counts its choices [start, stop) in `sMine`, (experts + 1,), and says their slots if it `places`
    them. `rIds` has the lane's first ids; the next ones are under way meanwhile."""
    batch = cute.size(rIds)
    place = start + cute.arch.lane_idx()
    for _ in cutlass.range((stop - start + 32 * batch - 1) >> (32 * batch).bit_length() - 1, unroll=1):
        ids = [rIds[k] for k in range(batch)]
        load_choices(mIds, rIds, place + 32 * batch, choices)
        for k in cutlass.range_constexpr(batch):
            expert = Int32(experts)
            if place < stop and Uint32(ids[k] - first) < Uint32(local):
                expert = ids[k]
            same = cute.arch.match_sync(0xFFFFFFFF, expert)
            before = Int32(cute.arch.popc(same & cute.arch.lanemask_lt()))
            earlier = sMine[expert]
            cute.arch.sync_warp()
            if before == 0:
                sMine[expert] = earlier + Int32(cute.arch.popc(same))
            cute.arch.sync_warp()
            if cutlass.const_expr(places):
                slot = sBase[expert] + earlier + before if expert < experts else Int32(-1)
                if place < stop:
                    mSlots[place] = slot
            place += 32


@cute.jit
def expert_slots(
    mIds: cute.Tensor, mCounts: cute.Tensor, mOffsets: cute.Tensor, mSlots: cute.Tensor, shared, choices,
    first, local, experts: cutlass.Constexpr, pad: cutlass.Constexpr, warps: cutlass.Constexpr,
    blocks: cutlass.Constexpr, batch: cutlass.Constexpr,
):  # fmt: skip
    """Fill mCounts (experts,), mOffsets (experts + 1,) and mSlots (choices,), Int32, from mIds (choices,).
    `shared` is what `expert_slots_shared` gave; `blocks` is the size of the cluster, 1 for none; a warp loads
    32 · `batch` ids at a time. These three and `warps` are powers of two. All threads must arrive, and others
    see the results after a barrier. There is a choice at least, and first + local ≤ experts."""
    sCount, sTotal, sBase, sPart = shared
    threads = 32 * warps
    share = (experts + threads - 1) // threads
    thread, _, _ = cute.arch.thread_idx()
    warp, rank = thread // 32, Int32(0)
    if cutlass.const_expr(blocks > 1):
        rank = Int32(cute.arch.block_idx_in_cluster())
    part = (choices + 32 * blocks * warps - 1) >> (32 * blocks * warps).bit_length() - 1 << 5
    start = min((rank * warps + warp) * part, choices)
    stop = min(start + part, choices)
    rIds = cute.make_rmem_tensor(batch, Int32)
    load_choices(mIds, rIds, start + cute.arch.lane_idx(), choices)

    for j in cutlass.range_constexpr((warps * (experts + 1) + threads - 1) // threads):
        if thread + j * threads < warps * (experts + 1):
            sCount[(thread + j * threads) // (experts + 1), (thread + j * threads) % (experts + 1)] = 0
    cute.arch.sync_threads()
    sMine = sCount[warp, None]
    number_choices(mIds, mSlots, sMine, sBase, rIds, start, stop, choices, first, local, experts, False)
    load_choices(mIds, rIds, start + cute.arch.lane_idx(), choices)
    cute.arch.sync_threads()

    rTotal, rBefore = cute.make_rmem_tensor(share, Int32), cute.make_rmem_tensor(share, Int32)
    for j in cutlass.range_constexpr(share):
        expert = thread * share + j
        rTotal[j], rBefore[j] = 0, 0
        if expert < experts:
            total = Int32(0)
            for w in cutlass.range_constexpr(warps):
                counted = sCount[w, expert]
                sCount[w, expert] = total
                total += counted
            rTotal[j] = total
            sTotal[expert] = total
    if cutlass.const_expr(blocks > 1):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
        for j in cutlass.range_constexpr(share):
            expert = thread * share + j
            if expert < experts:
                rTotal[j] = 0
                for b in cutlass.range_constexpr(blocks):
                    theirs = cute.arch.map_dsmem_ptr(sTotal.iterator, b)[expert]
                    rTotal[j] += theirs
                    if rank > b:
                        rBefore[j] += theirs
        cute.arch.cluster_arrive()

    mine = Int32(0)
    for j in cutlass.range_constexpr(share):
        mine += (rTotal[j] + pad - 1) // pad * pad
    offset = block_scan(mine, sPart, warps)
    for j in cutlass.range_constexpr(share):
        expert = thread * share + j
        if expert < experts:
            sBase[expert] = offset + rBefore[j]
            following = offset + (rTotal[j] + pad - 1) // pad * pad
            if rank == 0:
                mCounts[expert] = rTotal[j]
                mOffsets[expert] = offset
                if expert == experts - 1:
                    mOffsets[experts] = following
            offset = following
    cute.arch.sync_threads()
    number_choices(mIds, mSlots, sMine, sBase, rIds, start, stop, choices, first, local, experts, True)
    if cutlass.const_expr(blocks > 1):
        cute.arch.cluster_wait()  # nobody may end while others read its totals


# -- end of expert_slots
# -- block dispatch_plan ffbc35fc46db
THREADS = 256  # of a block in one launch
FEW_CHOICES = 2048  # whose slots every block finds
MOST_CHOICES = 4096  # whose slots a block has room for
# (accesses of a row up to which it holds, threads, vectors of a thread)
COPIES = ((32, 32, 1), (64, 64, 1), (128, 128, 1), (512, 256, 2), (1 << 30, 256, 4))
# (choices up to which it holds, blocks that find their slots)
ROUTES = ((4096, 1), (1 << 30, 8))
ROUTE_BATCH = 4  # ids that a lane of those loads at a time
ROUTE_BYTES = 36 << 10  # of their counters


def dispatch_plan(plan, tokens, accesses, model, multiprocessors, copy=None):
    """(plan, threads, vectors, route): `plan` as given, or "fused" where every block finds the slots, or
    "barrier" where one does, or "two launches" with route = (warps, blocks) of the first. `copy`, (threads,
    vectors), replaces those of the second. ValueError for a plan that can't be."""
    experts, top_k, _, _ = model
    choices, vectors = tokens * top_k, 1
    while tokens * -(-accesses // (THREADS * vectors)) > multiprocessors and THREADS * vectors < accesses:
        vectors *= 2
    blocks = tokens * -(-accesses // (THREADS * vectors))
    if not plan:
        one = "fused" if choices <= FEW_CHOICES else "barrier"
        plan = one if blocks <= multiprocessors else "two launches"
    if plan == "barrier":
        co_resident(blocks, multiprocessors)
    if plan == "fused" and choices > MOST_CHOICES:
        raise ValueError(f"{choices} choices are too many for each block")
    if plan != "two launches":
        return plan, THREADS, vectors, None
    warps = max(n for n in (1, 2, 4, 8, 16, 32) if 4 * n * (experts + 1) <= ROUTE_BYTES)
    threads, vectors = copy or min(row for row in COPIES if accesses <= row[0])[1:]
    _, route = min(row for row in ROUTES if choices <= row[0])
    return "two launches", threads, vectors, (warps, route)


# -- end of dispatch_plan


@cute.kernel
def dispatch_fused_kernel(
    mX: cute.Tensor, mIds: cute.Tensor, mO: cute.Tensor, mCounts: cute.Tensor, mOffsets: cute.Tensor,
    mSlots: cute.Tensor, mBarrier: cute.Tensor, first: Int32, local: Int32, model: cutlass.Constexpr,
    width: cutlass.Constexpr, vectors: cutlass.Constexpr, again: cutlass.Constexpr,
):  # fmt: skip
    token, part, _ = cute.arch.block_idx()
    blocks, parts, _ = cute.arch.grid_dim()
    thread, _, _ = cute.arch.thread_idx()
    tokens, choices, (experts, _, pad, _) = mX.shape[0], cute.size(mIds), model
    row = load_part(mX, min(token, tokens - 1), part, width, THREADS, vectors)
    shared = expert_slots_shared(experts, THREADS // 32)
    sizes, mFound = (experts, experts + 1, MOST_CHOICES), (mCounts, mOffsets, mSlots)
    sFound = [cute.make_tensor(cute.arch.alloc_smem(Int32, n, 16), cute.make_layout(n)) for n in sizes]
    if cutlass.const_expr(again):
        expert_slots(mIds, *sFound, shared, choices, first, local, experts, pad, THREADS // 32, 1, 1)
        cute.arch.sync_threads()
        write_rows(row, mO, sFound, token, tokens, part, blocks, model)
        if part + token == 0:
            for s, m, n in zip(sFound, mFound, (experts, experts + 1, choices), strict=True):
                for j in cutlass.range((n - thread + THREADS - 1) // THREADS, unroll=1):
                    m[thread + j * THREADS] = s[thread + j * THREADS]
    else:
        if part + token == 0:
            expert_slots(mIds, *mFound, shared, choices, first, local, experts, pad, THREADS // 32, 1, 1)
        grid_barrier(mBarrier.iterator, parts * blocks)
        write_rows(row, mO, mFound, token, tokens, part, blocks, model)


@cute.kernel
def dispatch_route_kernel(
    mIds: cute.Tensor, mCounts: cute.Tensor, mOffsets: cute.Tensor, mSlots: cute.Tensor, first: Int32,
    local: Int32, model: cutlass.Constexpr, warps: cutlass.Constexpr, blocks: cutlass.Constexpr,
):  # fmt: skip
    cute.arch.griddepcontrol_launch_dependents()
    found, choices, (experts, _, pad, _) = (mCounts, mOffsets, mSlots), cute.size(mIds), model
    shared = expert_slots_shared(experts, warps)
    expert_slots(mIds, *found, shared, choices, first, local, experts, pad, warps, blocks, ROUTE_BATCH)


@cute.kernel
def dispatch_copy_kernel(
    mX: cute.Tensor, mO: cute.Tensor, mCounts: cute.Tensor, mOffsets: cute.Tensor, mSlots: cute.Tensor,
    model: cutlass.Constexpr, width: cutlass.Constexpr, threads: cutlass.Constexpr,
    vectors: cutlass.Constexpr,
):  # fmt: skip
    token, part, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    tokens, found = mX.shape[0], (mCounts, mOffsets, mSlots)
    row = load_part(mX, min(token, tokens - 1), part, width, threads, vectors)
    cute.arch.griddepcontrol_wait()
    write_rows(row, mO, found, token, tokens, part, blocks, model)


@cute.jit
def dispatch_launch(
    pO: cute.Pointer, pX: cute.Pointer, pCounts: cute.Pointer, pOffsets: cute.Pointer, pSlots: cute.Pointer,
    pBarrier: cute.Pointer, pIds: cute.Pointer, tokens: Int32, x_stride: Int64, first: Int32, local: Int32,
    multiprocessors: Int32, hidden: cutlass.Constexpr, model: cutlass.Constexpr, width: cutlass.Constexpr,
    plan: cutlass.Constexpr, threads: cutlass.Constexpr, vectors: cutlass.Constexpr, route: cutlass.Constexpr,
    stream: cuda.CUstream,
):  # fmt: skip
    experts, top_k, pad, zero_padding = model
    choices, span = tokens * top_k, threads * width * vectors
    parts, blocks = (hidden + span - 1) // span, tokens
    if cutlass.const_expr(zero_padding):  # the padding is work for all
        blocks = max(tokens, multiprocessors // parts)
    mX = row_view(pX, tokens, hidden, x_stride, width)
    mO = row_view(pO, choices + experts * (pad - 1), hidden, Int64(hidden), width)
    sizes = ((pCounts, experts), (pOffsets, experts + 1), (pSlots, choices), (pIds, choices), (pBarrier, 1))
    mCounts, mOffsets, mSlots, mIds, mBarrier = [cute.make_tensor(p, cute.make_layout(n)) for p, n in sizes]
    grid, block = (blocks, parts, 1), (threads, 1, 1)
    if cutlass.const_expr(plan == "two launches"):
        warps, cluster = route
        dispatch_route_kernel(mIds, mCounts, mOffsets, mSlots, first, local, model, warps, cluster).launch(
            grid=(cluster, 1, 1), block=(32 * warps, 1, 1), cluster=(cluster, 1, 1), stream=stream
        )
        dispatch_copy_kernel(mX, mO, mCounts, mOffsets, mSlots, model, width, threads, vectors).launch(
            grid=grid, block=block, stream=stream, use_pdl=True
        )
    else:
        found, again = (mCounts, mOffsets, mSlots), plan == "fused"
        dispatch_fused_kernel(
            mX, mIds, mO, *found, mBarrier, first, local, model, width, vectors, again
        ).launch(grid=grid, block=block, stream=stream, cooperative=not again)


@functools.cache
def _compiled(dtype, hidden, model, width, plan, threads, vectors, route, capability):
    pointer, numbers = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, Int32, 1)
    return cute.compile(
        dispatch_launch, pointer, pointer, numbers, numbers, numbers, numbers, numbers,
        Int32(0), Int64(0), Int32(0), Int32(0), Int32(0),
        hidden, model, width, plan, threads, vectors, route, make_fake_stream(),
    )  # fmt: skip


def compile_dispatch(
    dtype, tokens, hidden, experts, top_k, pad, zero_padding, width=0, device=NO_DEVICE, plan="", copy=None
):
    """The compiled launcher; width 0: the widest for `hidden`. `plan` and `copy`: see `dispatch_plan`."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, hidden)
    model = (experts, top_k, pad, bool(zero_padding) and pad > 1)
    facts = dispatch_plan(plan, tokens, -(-hidden // width), model, multiprocessors, copy)
    return _compiled(dtype, hidden, model, width, *facts, capability)


def dispatch(
    out: torch.Tensor | int, counts: torch.Tensor | int, offsets: torch.Tensor | int,
    slots: torch.Tensor | int, barrier: torch.Tensor | int, x: torch.Tensor | int,
    topk_ids: torch.Tensor | int, tokens: int, hidden: int, x_stride: int, experts: int, top_k: int,
    pad: int, zero_padding: int, first: int, local: int, *,
    dtype: str, stream: int | None = None, plan: str = "",
) -> None:  # fmt: skip
    """Dispatch `tokens` rows to the experts [first, first + local) of `experts`; no tokens: nothing happens.
    Tensors or device addresses; `barrier` is zero before and after, and no other launch's meanwhile. `stream`
    defaults to torch's current one. `plan` as in `dispatch_plan`."""
    if tokens == 0:
        return
    kind, device = ELEMENTS[dtype], device_facts()
    width = vector_width(kind.width, hidden, x_stride, *(address_of(t) * 8 // kind.width for t in (out, x)))
    launch = compile_dispatch(dtype, tokens, hidden, experts, top_k, pad, zero_padding, width, device, plan)
    numbers = [device_pointer(t, Int32, 1) for t in (counts, offsets, slots, barrier, topk_ids)]
    launch(
        device_pointer(out, kind, width), device_pointer(x, kind, width), *numbers,
        Int32(tokens), Int64(x_stride), Int32(first), Int32(local), Int32(device[0]),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
