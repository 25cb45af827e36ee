"""Routing of a mixture of experts: choices of each expert, where its rows begin, each choice's row.

    counts[e] = choices (t, k) with topk_ids[t, k] = e     offsets[e + 1] = offsets[e] + counts[e] up to pad
    slots[t, k] = offsets[e] + choices of e before (t, k)  -1 where e is not of this GPU

Shapes: topk_ids and slots are (tokens, top_k), counts (experts,) and offsets (experts + 1,), all int32. Tuned
for 8 … 512 experts and 1 … 262,144 choices (tokens · top_k). Experts first … first + local - 1 are of this
GPU. All others count nothing and take no row, and so do ids of no expert: -1 for a token that is padding.

Algorithm: one block as long as it has a thread for each choice, then a cluster of 8 that add up each other's
counters in shared memory. No workspace, no second launch, no order of atomics: the same ids always give
the same slots, and an expert's rows are in the order of the tokens.

    choices   0 … 31 | 32 … 63 | …       warp 0 | warp 1 | …      ids in registers, coalesced
    sCount    (warps, experts + 1)       ─ down the warps, then over the blocks of the cluster ─→  rows before
    offsets   (experts + 1)              ─ running sum of counts rounded up to pad, over threads

experts and pad are compile-time constants; first and local are not, so that all ranks share one kernel.

Units: choices, rows. Traffic: an id in and a slot out for each choice, 8 bytes an expert; latency counts.
Source of the technique: ranking by match_any in radix sorts; clusters in place of a barrier of the grid.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int32, Numeric, Uint32
from cutlass.cute.runtime import make_fake_stream, make_ptr

# -- block device_pointer 12983485f4af
ELEMENTS = {"bf16": BFloat16, "f16": Float16, "f32": Float32}


def address_of(x: Any) -> int:
    """The address in bytes of a CUDA tensor's first element, or a device address as it is."""
    return x if isinstance(x, int) else x.data_ptr()


def device_pointer(x: Any, kind: type[Numeric], width: int) -> Any:
    """A pointer to elements of `kind` in global memory that is aligned to `width` of them."""
    return make_ptr(kind, address_of(x), AddressSpace.gmem, assumed_align=width * kind.width // 8)


# -- end of device_pointer
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
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
# (choices up to which it holds, blocks of the cluster, ids that a lane loads at a time)
PLANS = ((1024, 1, 1), (1 << 62, 8, 4))
COUNTER_BYTES = 36 << 10  # of a block; more would need dynamic shared memory


@cute.kernel
def expert_routing_kernel(
    mIds: cute.Tensor,
    mCounts: cute.Tensor,
    mOffsets: cute.Tensor,
    mSlots: cute.Tensor,
    first: Int32,
    local: Int32,
    experts: cutlass.Constexpr,
    pad: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    batch: cutlass.Constexpr,
):
    shared, choices = expert_slots_shared(experts, warps), cute.size(mIds)
    expert_slots(
        mIds, mCounts, mOffsets, mSlots, shared, choices, first, local, experts, pad, warps, blocks, batch
    )


@cute.jit
def expert_routing_launch(
    pCounts: cute.Pointer,
    pOffsets: cute.Pointer,
    pSlots: cute.Pointer,
    pIds: cute.Pointer,
    choices: Int32,
    first: Int32,
    local: Int32,
    experts: cutlass.Constexpr,
    pad: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    batch: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    sizes = ((pIds, choices), (pCounts, experts), (pOffsets, experts + 1), (pSlots, choices))
    tensors = [cute.make_tensor(p, cute.make_layout(n)) for p, n in sizes]
    expert_routing_kernel(*tensors, first, local, experts, pad, warps, blocks, batch).launch(
        grid=(blocks, 1, 1), block=(32 * warps, 1, 1), cluster=(blocks, 1, 1), stream=stream
    )


@functools.cache
def _compiled(experts, pad, warps, blocks, batch, capability):
    pointer, number = device_pointer(0, Int32, 1), Int32(0)
    return cute.compile(
        expert_routing_launch, pointer, pointer, pointer, pointer, number, number, number,
        experts, pad, warps, blocks, batch, make_fake_stream(),
    )  # fmt: skip


def compile_expert_routing(dtype, tokens, top_k, experts, pad, plan=None, device=NO_DEVICE):
    """The compiled launcher for these facts; `dtype` is i32. `plan`: (blocks, batch) in place of the
    table's. A block gets a thread for each `batch` choices and for each expert, if its counters have room."""
    _, capability = device
    blocks, batch = plan or min(row for row in PLANS if tokens * top_k <= row[0])[1:]
    wanted, warps = -(-tokens * top_k // (blocks * batch)), 1
    while 32 * warps < max(wanted, experts) and warps < 32 and 8 * warps * (experts + 1) <= COUNTER_BYTES:
        warps *= 2
    return _compiled(experts, pad, warps, blocks, batch, capability)


def expert_routing(
    counts: torch.Tensor | int,
    offsets: torch.Tensor | int,
    slots: torch.Tensor | int,
    topk_ids: torch.Tensor | int,
    tokens: int,
    top_k: int,
    experts: int,
    pad: int,
    first: int,
    local: int,
    *,
    dtype: str = "i32",
    stream: int | None = None,
) -> None:
    """Route the choices of `tokens` tokens to the experts [first, first + local) of `experts`. Tensors or
    device addresses; `stream` defaults to torch's current one. Without tokens nothing is written."""
    if tokens == 0:
        return
    compile_expert_routing(dtype, tokens, top_k, experts, pad, device=device_facts())(
        *(device_pointer(t, Int32, 1) for t in (counts, offsets, slots, topk_ids)),
        Int32(tokens * top_k), Int32(first), Int32(local),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
