"""Running sums of a whole array in one launch, read once and written once: out[i] = x[0] + … + x[i].

Shapes: x and out are `count` contiguous elements, fp32, bf16 or int32; they may not overlap. Sums are fp32,
or int32, which wrap as in C. state has a word of 64 bits for every 256 elements, ticket one of 32 bits: all
zero before the first launch, and again after each. Any count is right; tuned for 2^16 and more.

Algorithm: tiles in the order in which blocks start. A warp has a stretch of its tile, vector by vector:

    tile (warps, each, 32, width)    vector j of a lane: width neighbours; of a warp: 32 · width neighbours

    registers ─ sums within a vector ─ over lanes, j after j ─ over warps ─→ publish the tile's sum (OWN)
    look back over the tiles before ─→ publish the sum up to here (WHOLE) ─→ add it to all, store

The block of the last tile clears state and ticket once all tiles know the whole: nobody looks back then.
What is no whole vector at the end goes element by element.
int32 gives the same bits in each run; of floats the last bits depend on how far each block had to look back.

Units: elements. Traffic: 2 · count · bytes of an element.
Source of the technique: decoupled look-back of Merrill and Garland, as in CUB.
"""

import functools
import operator
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import (
    AddressSpace,
    BFloat16,
    Boolean,
    Float16,
    Float32,
    Int16,
    Int32,
    Int64,
    Numeric,
    Uint32,
    Uint64,
)
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
# -- block look_back 945d81d04137
OWN, WHOLE = 1, 2


@cute.jit
def publish(mState: cute.Tensor, tile, value, mark: cutlass.Constexpr):
    """Tell other blocks a sum of `tile`; one thread does."""
    word = Uint64(mark) << 32 | Uint64(value.bitcast(Uint32))
    cute.arch.store(mState.iterator + tile, word, sem="relaxed", scope="gpu")


@cute.jit
def look_back(mState: cute.Tensor, tile, kind: cutlass.Constexpr):
    """The sum of all tiles before `tile`, in all lanes of a warp, all of which must arrive."""
    lane = cute.arch.lane_idx()
    total, at, going = kind(0), tile - 1 - lane, Boolean(tile > 0)
    while going:
        word = Uint64(WHOLE) << 32  # before the first tile: a sum of nothing
        if at >= 0:
            word = Uint64(cute.arch.load(mState.iterator + at, Uint64, sem="relaxed", scope="gpu"))
        mark = Int32(word >> 32)
        unknown = Uint32(cute.arch.vote_ballot_sync(mark == 0))
        whole = Uint32(cute.arch.vote_ballot_sync(mark == WHOLE))
        nearest = whole & (~whole + 1)
        wanted = nearest | (nearest - 1)  # lanes up to the nearest that knows the whole, or all
        if unknown & wanted == 0:
            mine = kind(0)
            if wanted >> lane & 1 != 0:
                mine = Uint32(word).bitcast(kind)
            total += lane_reduce(mine, operator.add, 32)
            at -= 32
            going = whole == 0
    return total


@cute.jit
def clear_states(mState: cute.Tensor, thread, threads: cutlass.Constexpr):
    """Wait until every tile knows the whole, then clear all words; all threads of one block do. A thread
    clears what it has read itself, so that no zero comes before the sum it has seen."""
    tiles = cute.size(mState)
    for k in cutlass.range(thread, tiles, threads):
        mark = Int32(0)
        while mark != WHOLE:
            word = Uint64(cute.arch.load(mState.iterator + k, Uint64, sem="relaxed", scope="gpu"))
            mark = Int32(word >> 32)
    cute.arch.sync_threads()
    for k in cutlass.range(thread, tiles, threads):
        cute.arch.store(mState.iterator + k, Uint64(0), sem="relaxed", scope="gpu")


# -- end of look_back
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
# element type, type of its sums
TYPES = {"f32": (Float32, Float32), "bf16": (BFloat16, Float32), "i32": (Int32, Int32)}
# (vectors for each multiprocessor up to which it holds, threads of a block, elements of a thread)
TILES = ((256, 256, 4), (8192, 256, 16), (1 << 62, 512, 32))


@cute.jit
def load_vector(mX: cute.Tensor, mTail: cute.Tensor, v):
    """Vector `v` in registers; of the one after the last what exists, zeros beyond."""
    rX = load_if(mX[v, None], v < mX.shape[0])
    if v == mX.shape[0]:
        for k in cutlass.range_constexpr(cute.size(rX)):
            if k < cute.size(mTail):
                rX[k] = mTail[k]
    return rX


@cute.jit
def store_vector(rO: cute.Tensor, mO: cute.Tensor, mTail: cute.Tensor, v):
    """The other way."""
    if v < mO.shape[0]:
        cute.autovec_copy(rO, mO[v, None])
    if v == mO.shape[0]:
        for k in cutlass.range_constexpr(cute.size(rO)):
            if k < cute.size(mTail):
                mTail[k] = rO[k]


@cute.kernel
def inclusive_scan_kernel(
    mX: cute.Tensor,
    mXTail: cute.Tensor,
    mO: cute.Tensor,
    mOTail: cute.Tensor,
    mState: cute.Tensor,
    mTicket: cute.Tensor,
    kind: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    warp, lane, width, tiles = thread // 32, thread % 32, mX.shape[1], cute.size(mState)
    sPart = cute.make_tensor(cute.arch.alloc_smem(kind, 32, 16), cute.make_layout(32))
    sTile = cute.make_tensor(cute.arch.alloc_smem(Int32, 1, 16), cute.make_layout(1))
    if thread == 0:
        sTile[0] = cute.arch.atomic_add(mTicket.iterator, Int32(1), sem="relaxed", scope="gpu")
    cute.arch.sync_threads()
    tile = sTile[0]
    v = (Int64(tile) * (threads // 32) + warp) * (32 * each) + lane
    rX = [load_vector(mX, mXTail, v + 32 * j) for j in range(each)]

    rSum, carry = cute.make_rmem_tensor(cute.make_layout((width, each)), kind), kind(0)
    for j in cutlass.range_constexpr(each):
        mine = kind(0)
        for k in cutlass.range_constexpr(width):
            mine += kind(rX[j][k])
            rSum[k, j] = mine
        before, total = lane_scan(mine, kind)
        for k in cutlass.range_constexpr(width):
            rSum[k, j] += carry + before
        carry += total
    if lane == 0:
        sPart[warp] = carry
    cute.arch.sync_threads()
    if warp == 0:
        mine = kind(0)
        if lane < threads // 32:
            mine = sPart[lane]
        before, total = lane_scan(mine, kind)
        if lane == 0:
            publish(mState, tile, total, OWN)
        earlier = look_back(mState, tile, kind)
        if lane == 0:
            publish(mState, tile, earlier + total, WHOLE)
        sPart[lane] = earlier + before
    cute.arch.sync_threads()
    for j in cutlass.range_constexpr(each):
        rO = cute.make_rmem_tensor(width, mO.element_type)
        for k in cutlass.range_constexpr(width):
            rO[k] = mO.element_type(rSum[k, j] + sPart[warp])
        store_vector(rO, mO, mOTail, v + 32 * j)
    if tile == tiles - 1:
        clear_states(mState, thread, threads)
        if thread == 0:
            mTicket[0] = Int32(0)


@cute.jit
def inclusive_scan_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    pState: cute.Pointer,
    pTicket: cute.Pointer,
    count: Int64,
    width: cutlass.Constexpr,
    kind: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    vectors, span = count // width, threads * each * width
    tiles, tail = Int32((count + span - 1) // span), cute.make_layout(Int32(count % width))
    mX, mO = (cute.make_tensor(p, cute.make_layout((vectors, width), stride=(width, 1))) for p in (pX, pO))
    mXTail, mOTail = (cute.make_tensor(p + vectors * width, tail) for p in (pX, pO))
    words = ((pState, tiles), (pTicket, 1))
    mState, mTicket = (cute.make_tensor(p, cute.make_layout(n)) for p, n in words)
    inclusive_scan_kernel(mX, mXTail, mO, mOTail, mState, mTicket, kind, threads, each).launch(
        grid=(tiles, 1, 1), block=(threads, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, width, threads, each, capability):
    kind, total = TYPES[dtype]
    pX, pState, pTicket = (device_pointer(0, k, w) for k, w in ((kind, width), (Uint64, 1), (Int32, 1)))
    return cute.compile(
        inclusive_scan_launch, pX, pX, pState, pTicket, Int64(0),
        width, total, threads, each, make_fake_stream(),
    )  # fmt: skip


def compile_inclusive_scan(dtype, count, width=0, threads=0, elements=0, device=NO_DEVICE):
    """The compiled launcher for these facts; width 0 is the widest of the type; `threads` of a block and
    `elements` of a thread are by TILES where they are not given."""
    multiprocessors, capability = device
    width = width or vector_width(TYPES[dtype][0].width)
    if not threads:
        threads, elements = min(row for row in TILES if count <= row[0] * multiprocessors * width)[1:]
    return _compiled(dtype, width, threads, max(1, elements // width), capability)


def inclusive_scan(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    state: torch.Tensor | int,
    ticket: torch.Tensor | int,
    count: int,
    *,
    dtype: str,
    threads: int = 0,
    elements: int = 0,
    stream: int | None = None,
) -> None:
    """Running sums of `count` elements. Tensors or device addresses; `threads` and `elements` are as in
    compile_inclusive_scan, and `stream` defaults to torch's current one. Launches that may run at the same
    time need a state and a ticket each."""
    if count == 0:
        return
    (kind, _), device = TYPES[dtype], device_facts()
    width = vector_width(kind.width, *(address_of(t) * 8 // kind.width for t in (out, x)))
    compile_inclusive_scan(dtype, count, width, threads, elements, device)(
        device_pointer(out, kind, width), device_pointer(x, kind, width),
        device_pointer(state, Uint64, 1), device_pointer(ticket, Int32, 1), Int64(count),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
