"""Group-limited top-k gating: sigmoid scores, a bias for the choice, and experts of the best groups only.

    s = sigmoid(logits[t, :]),  c = s + bias          score of a group = the sum of its two largest c
    topk_ids[t, k] = k-th largest c in the topk_groups best groups, the lower expert first among equals
    topk_weights[t, k] = scale · s[topk_ids[t, k]], divided by the sum of the chosen s where `renormalize`

Shapes: logits are `tokens` rows of `experts`, `stride` elements apart, bf16, fp16 or fp32; bias (experts,)
is f32; topk_ids (tokens, top_k) i32, topk_weights (tokens, top_k) f32. experts is a multiple of 32 and
`groups` a power of two up to 32, so that a lane's experts are of one group: 256 in 8, 160 in 8, 384 in 1.
top_k is at most 32 and what topk_groups hold. A NaN logit counts as -inf in the choice.

Algorithm: a warp a token. Each lane owns experts / 32 neighbours, so that a group is neighbouring lanes:

    gX (1, experts / 32) of each lane ─→ c ─→ keys of (c, expert), sorted in the lane, largest first
    256 experts in 8 groups     group 0: lanes 0 … 3 │ group 1: lanes 4 … 7 │ …
    two largest c of a lane ─ butterfly in the group ─→ score ─ compared with all others ─→ keep or drop keys
    top_k times: the largest first key of all lanes; its lane moves its list up by one

Lane k keeps the k-th, fetches its logit again, since a key has no room for s, and writes index and weight.

Units: strides in elements. Traffic: the logits and 8 bytes a choice; the bias stays in the caches.
Source of the technique: the node-limited routing of DeepSeek-V3's report; keys as in topk_gating.
"""

import functools
import operator
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int16, Int32, Int64, Numeric
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
# -- block lane_reduce 2f92a86e78c1
@cute.jit
def lane_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result over each group of `lanes` (a power of two up to 32) lanes, in all of them."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        value = operation(value, cute.arch.shuffle_sync_bfly(value, lanes >> (step + 1)))
    return value


# -- end of lane_reduce
# -- block value_key 066db634e0cd
KEYS = {16: Int32, 32: Int64}  # by the bits of a value
NOTHING = {16: -(1 << 31), 32: -(1 << 63)}


@cute.jit
def pack_key(value, index, kind: cutlass.Constexpr):
    """The key of a value of type `kind` (bf16, fp16 or fp32) at an index."""
    held = kind(cute.arch.fmax(Float32(value), Float32(-float("inf"))) + 0.0)
    low = 0xFFFF - index
    if cutlass.const_expr(kind.width == 16):
        bits = Int32(held.bitcast(Int16))
        key = (bits ^ ((bits >> 15) & 0x7FFF)) << 16 | low
    else:
        bits = held.bitcast(Int32)
        key = Int64(bits ^ ((bits >> 31) & 0x7FFFFFFF)) << 32 | Int64(low)
    return key


@cute.jit
def key_value(key, kind: cutlass.Constexpr):
    """The value of a key, as Float32; `kind` is the type that it was packed as."""
    if cutlass.const_expr(kind.width == 16):
        bits = key >> 16
        value = Float32(Int16(bits ^ ((bits >> 15) & 0x7FFF)).bitcast(kind))
    else:
        bits = Int32(key >> 32)
        value = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).bitcast(Float32)
    return value


@cute.jit
def key_index(key):
    """The index of a key."""
    return 0xFFFF - (Int32(key) & 0xFFFF)


@cute.jit
def largest_key(key, lanes: cutlass.Constexpr):
    """The largest key of each group of `lanes` (a power of two up to 32), in all of its lanes."""
    if cutlass.const_expr(lanes < 32):
        key = lane_reduce(key, max, lanes)
    elif cutlass.const_expr(type(key) is Int32):
        key = cute.arch.warp_redux_sync(key, "max")
    else:
        high = Int32(key >> 32)
        most = cute.arch.warp_redux_sync(high, "max")
        low = cute.arch.warp_redux_sync(Int32(key) if high == most else Int32(-1), "max")
        key = Int64(most) << 32 | Int64(low)
    return key


# -- end of value_key
# -- block sort_registers 98996303f4e6
def exchanges(count: int) -> list[tuple[int, int]]:
    """The pairs in order, the larger number to go to the first of each. Host code."""
    pairs, merged = [], 1
    while merged < count:
        apart = merged
        while apart:
            for start in range(apart % merged, count - apart, 2 * apart):
                for a in range(start, min(start + apart, count - apart)):
                    if a // (2 * merged) == (a + apart) // (2 * merged):
                        pairs.append((a, a + apart))
            apart //= 2
        merged *= 2
    return pairs


@cute.jit
def sort_registers(rX: cute.Tensor):
    """Sort a fragment in place, largest first."""
    for a, b in exchanges(cute.size(rX)):
        first, second = rX[a], rX[b]
        rX[a], rX[b] = max(first, second), min(first, second)


# -- end of sort_registers
# -- block warps_of_block 84e96dd2ec74
MOST_WARPS = 4


def warps_of_block(warps: int, multiprocessors: int) -> int:
    """A power of two from 1 to MOST_WARPS; `warps` is how many the whole launch needs."""
    chosen = 1
    while chosen < MOST_WARPS and warps > chosen * multiprocessors:
        chosen *= 2
    return chosen


# -- end of warps_of_block
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
@cute.jit
def sigmoid(x):
    """1 / (1 + exp(-x)) with the accuracy of CUDA's expf: the choice depends on the last bit."""
    power = cute.ffi(name="__nv_expf", params_types=[Float32], return_type=Float32)(-x)
    return Float32(1.0) / (Float32(1.0) + power)


@cute.jit
def best_two(first, second, lanes: cutlass.Constexpr):
    """The two largest of a group of lanes, each of which brings two in order."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        other = cute.arch.shuffle_sync_bfly(first, lanes >> (step + 1))
        others = cute.arch.shuffle_sync_bfly(second, lanes >> (step + 1))
        second = cute.arch.fmax(cute.arch.fmin(first, other), cute.arch.fmax(second, others))
        first = cute.arch.fmax(first, other)
    return first, second


@cute.kernel
def grouped_topk_gating_kernel(
    mX: cute.Tensor,
    mB: cute.Tensor,
    mI: cute.Tensor,
    mW: cute.Tensor,
    scale: Float32,
    groups: cutlass.Constexpr,
    topk_groups: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    renormalize: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, own, top_k = thread % 32, mX.shape[1] // 32, mI.shape[1]
    token = block * warps + thread // 32
    read = min(token, mX.shape[0] - 1)  # beyond the end: the last token again
    gX, gB = cute.local_tile(mX, (1, own), (read, lane)), cute.local_tile(mB, (1, own), (0, lane))
    rX, rB = cute.make_fragment_like(gX), cute.make_fragment_like(gB)
    cute.autovec_copy(gX, rX)
    cute.autovec_copy(gB, rB)

    rKey = cute.make_rmem_tensor(own, Int64)
    for j in cutlass.range_constexpr(own):
        rKey[j] = pack_key(sigmoid(Float32(rX[0, j])) + rB[0, j], lane * own + j, Float32)
    sort_registers(rKey)

    if cutlass.const_expr(topk_groups < groups):
        lanes, second = 32 // groups, Float32(-float("inf"))
        if cutlass.const_expr(own > 1):
            second = key_value(rKey[1], Float32)
        first, second = best_two(key_value(rKey[0], Float32), second, lanes)
        score, better = first + second, Int32(0)
        for g in cutlass.range_constexpr(groups):
            other = cute.arch.shuffle_sync(score, g * lanes)
            if other > score or (other == score and g < lane // lanes):
                better += 1
        if better >= topk_groups:
            for j in cutlass.range_constexpr(own):
                rKey[j] = NOTHING[32]

    mine = Int64(0)
    for k in cutlass.range_constexpr(top_k):
        best = largest_key(rKey[0], 32)
        if lane == k:
            mine = best
        if rKey[0] == best:
            for j in cutlass.range_constexpr(min(own, top_k - k) - 1):
                rKey[j] = rKey[j + 1]
            if cutlass.const_expr(own < top_k - k):
                rKey[own - 1] = NOTHING[32]

    weight, index = Float32(0.0), key_index(mine)
    if lane < top_k:
        weight = sigmoid(Float32(mX[read, index]))
    if cutlass.const_expr(renormalize):
        weight = weight / lane_reduce(weight, operator.add, 32)
    if token < mX.shape[0] and lane < top_k:
        mI[token, lane] = index
        mW[token, lane] = weight * scale


@cute.jit
def grouped_topk_gating_launch(
    pI: cute.Pointer,
    pW: cute.Pointer,
    pX: cute.Pointer,
    pB: cute.Pointer,
    scale: Float32,
    tokens: Int32,
    stride: Int64,
    experts: cutlass.Constexpr,
    groups: cutlass.Constexpr,
    topk_groups: cutlass.Constexpr,
    top_k: cutlass.Constexpr,
    width: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    renormalize: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(pX, tokens, experts, stride, width)
    mB = row_view(pB, 1, experts, Int64(experts), 1)
    mI, mW = [row_view(p, tokens, top_k, Int64(top_k), 1) for p in (pI, pW)]
    grouped_topk_gating_kernel(mX, mB, mI, mW, scale, groups, topk_groups, warps, renormalize).launch(
        grid=((tokens + warps - 1) // warps, 1, 1), block=(warps * 32, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, experts, groups, topk_groups, top_k, width, bias_width, warps, renormalize, capability):
    pointers = [device_pointer(0, kind, 1) for kind in (Int32, Float32)]
    pointers += [device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, Float32, bias_width)]
    return cute.compile(
        grouped_topk_gating_launch, *pointers, Float32(0), Int32(0), Int64(0),
        experts, groups, topk_groups, top_k, width, warps, renormalize, make_fake_stream(),
    )  # fmt: skip


def compile_grouped_topk_gating(
    dtype, tokens, experts, groups, topk_groups, top_k, renormalize, width=0, bias_width=1, device=NO_DEVICE
):
    """The compiled launcher for these facts. `width` and `bias_width`: elements of an access of logits and
    bias, 0 for the widest that `experts` allows."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, experts // 32)
    bias_width = bias_width or vector_width(32, experts // 32)
    warps, model = warps_of_block(tokens, multiprocessors), (experts, groups, topk_groups, top_k)
    return _compiled(dtype, *model, width, bias_width, warps, bool(renormalize), capability)


def grouped_topk_gating(
    topk_ids: torch.Tensor | int,
    topk_weights: torch.Tensor | int,
    logits: torch.Tensor | int,
    bias: torch.Tensor | int,
    scale: float,
    tokens: int,
    experts: int,
    groups: int,
    topk_groups: int,
    top_k: int,
    stride: int,
    renormalize: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Choose the experts of `tokens` tokens. Tensors or device addresses; `stream` defaults to torch's
    current one."""
    if tokens == 0:
        return
    kind, own = ELEMENTS[dtype], experts // 32
    width = vector_width(kind.width, own, stride, address_of(logits) * 8 // kind.width)
    bias_width, device = vector_width(32, own, address_of(bias) // 4), device_facts()
    compile_grouped_topk_gating(
        dtype, tokens, experts, groups, topk_groups, top_k, renormalize, width, bias_width, device
    )(
        device_pointer(topk_ids, Int32, 1), device_pointer(topk_weights, Float32, 1),
        device_pointer(logits, kind, width), device_pointer(bias, Float32, bias_width),
        Float32(scale), Int32(tokens), Int64(stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
