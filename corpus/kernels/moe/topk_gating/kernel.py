"""Top-k gating of a mixture of experts: softmax of a token's router logits, and its top_k experts.

    p = softmax(logits[t, :])      topk_ids[t, k] = k-th largest of p, the lower expert first among equals
    topk_weights[t, k] = p[topk_ids[t, k]], divided by the sum of the chosen ones where `renormalize`

Shapes: logits are `tokens` rows of `experts` (8 … 512 is what it is tuned for), `stride` elements apart,
bf16, fp16 or fp32; topk_ids (tokens, top_k) i32, topk_weights (tokens, top_k) f32. A NaN counts as -inf.

Algorithm: a group of lanes, up to a warp, owns a token and keeps its logits as keys of (value, index):

    gX (1, experts) ─128 bits→ keys ─ sorted in each lane, largest first      lanes   0     1     2   …
    top_k times:  the largest first key of all lanes (one redux);             first   9·3   7·8   8·17
                  its lane moves its list up by one                           next    2·1   7·9   …

Lane k mod lanes keeps the k-th, and writes its index and weight. Logits are compared, not probabilities,
which may be equal where logits are not. Renormalised weights need the sum over the chosen only. experts,
top_k and renormalize are compile-time constants.

Units: strides in elements. Traffic: the logits in, 8 bytes a choice out.
Source of the technique: the top-k softmax kernels of inference engines (a warp a token), with lists sorted in
registers in place of a scan for each choice.
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
LOG2_E = 1.4426950408889634


@cute.kernel
def topk_gating_kernel(
    mX: cute.Tensor,
    mI: cute.Tensor,
    mW: cute.Tensor,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    renormalize: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    element, experts, top_k, lane = mX.element_type, mX.shape[1], mI.shape[1], thread % lanes
    token = block * (warps * 32 // lanes) + thread // lanes
    copy, tile = row_tiles(element, experts, width, lanes)
    mine = copy.get_slice(lane)
    gX = cute.local_tile(mX, tile, (min(token, mX.shape[0] - 1), 0))  # beyond the end: the last token again
    tXcX = mine.partition_S(cute.local_tile(cute.make_identity_tensor((1, experts)), tile, (0, 0)))
    tXgX, tXpX = mine.partition_S(gX), in_bounds(tXcX, experts)
    tXrX = cute.make_fragment_like(tXgX)
    tXrX.fill(0.0)
    cute.copy(copy, tXgX, tXrX, pred=tXpX)

    rKey = cute.make_rmem_tensor(cute.size(tXrX), KEYS[element.width])
    for j in cutlass.range_constexpr(cute.size(tXrX)):
        at = ((j % width, 0), 0, j // width)
        key = pack_key(tXrX[at], tXcX[at][1], element)
        rKey[j] = cutlass.select_(tXpX[0, 0, j // width], key, KEYS[element.width](NOTHING[element.width]))
    sort_registers(rKey)

    largest = key_value(largest_key(rKey[0], lanes), element)
    total = Float32(0.0)
    if cutlass.const_expr(not renormalize):
        for j in cutlass.range_constexpr(cute.size(rKey)):
            if rKey[j] != NOTHING[element.width]:
                total += cute.math.exp2((key_value(rKey[j], element) - largest) * LOG2_E, fastmath=True)

    rBest = cute.make_rmem_tensor((top_k + lanes - 1) // lanes, KEYS[element.width])
    for k in cutlass.range_constexpr(top_k):
        best = largest_key(rKey[0], lanes)
        if lane == k % lanes:
            rBest[k // lanes] = best
        if rKey[0] == best:
            for j in cutlass.range_constexpr(min(cute.size(rKey), top_k - k) - 1):
                rKey[j] = rKey[j + 1]
            if cutlass.const_expr(cute.size(rKey) < top_k - k):
                rKey[cute.size(rKey) - 1] = NOTHING[element.width]

    rW = cute.make_rmem_tensor(cute.size(rBest), Float32)
    for j in cutlass.range_constexpr(cute.size(rBest)):
        rW[j] = cute.math.exp2((key_value(rBest[j], element) - largest) * LOG2_E, fastmath=True)
        if cutlass.const_expr(renormalize):
            total += rW[j] if lane + j * lanes < top_k else Float32(0.0)
    total = lane_reduce(total, operator.add, lanes)
    for j in cutlass.range_constexpr(cute.size(rBest)):
        if token < mX.shape[0] and lane + j * lanes < top_k:
            mI[token, lane + j * lanes] = key_index(rBest[j])
            mW[token, lane + j * lanes] = rW[j] / total


@cute.jit
def topk_gating_launch(
    pI: cute.Pointer,
    pW: cute.Pointer,
    pX: cute.Pointer,
    tokens: Int32,
    stride: Int64,
    experts: cutlass.Constexpr,
    top_k: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    renormalize: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(pX, tokens, experts, stride, width)
    mI, mW = [row_view(p, tokens, top_k, Int64(top_k), 1) for p in (pI, pW)]
    per_block = warps * 32 // lanes
    topk_gating_kernel(mX, mI, mW, width, lanes, warps, renormalize).launch(
        grid=((tokens + per_block - 1) // per_block, 1, 1), block=(warps * 32, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, experts, top_k, width, lanes, warps, renormalize, capability):
    pointers = [device_pointer(0, kind, 1) for kind in (Int32, Float32)]
    return cute.compile(
        topk_gating_launch, *pointers, device_pointer(0, ELEMENTS[dtype], width), Int32(0), Int64(0),
        experts, top_k, width, lanes, warps, renormalize, make_fake_stream(),
    )  # fmt: skip


def compile_topk_gating(dtype, tokens, experts, top_k, renormalize, width=0, lanes=0, device=NO_DEVICE):
    """The compiled launcher for these facts. `width`: elements of an access, 0 for the widest that `experts`
    allows; `lanes` of a token, 0 for as many as it has accesses, up to a warp."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, experts)
    lanes = lanes or min(32, 1 << (-(-experts // width) - 1).bit_length())
    warps = warps_of_block(-(-tokens * lanes // 32), multiprocessors)
    return _compiled(dtype, experts, top_k, width, lanes, warps, bool(renormalize), capability)


def topk_gating(
    topk_ids: torch.Tensor | int,
    topk_weights: torch.Tensor | int,
    logits: torch.Tensor | int,
    tokens: int,
    experts: int,
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
    kind = ELEMENTS[dtype]
    width = vector_width(kind.width, experts, stride, address_of(logits) * 8 // kind.width)
    compile_topk_gating(dtype, tokens, experts, top_k, renormalize, width, device=device_facts())(
        device_pointer(topk_ids, Int32, 1), device_pointer(topk_weights, Float32, 1),
        device_pointer(logits, kind, width), Int32(tokens), Int64(stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
