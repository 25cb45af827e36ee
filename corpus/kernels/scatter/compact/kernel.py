"""The elements of x above a limit, and where they stood: all (x[i], i) with x[i] > limit, in any order.

Shapes: x is `count` contiguous elements, fp32, bf16 or fp16, of fewer than 2^31; out and at (int32) have room
for as many as there can be, count of them. found is one int32, zero before; then how many there are. Tuned
for 2^16 elements and more, whatever share of them is kept. NaN is not above anything.

Algorithm: a block reads a tile, puts what it keeps in a row in shared memory, asks for room, and copies:

    mX (tiles, each, threads, width) ─128-bit loads─→ registers ─ kept of a thread ─ block_scan → places
    sO, sAt    kept of thread 0 │ of thread 1 │ …     ← one atomic addition to found: the block's first place
    mO, mAt    … of other blocks … │ first + 0, 1, 2, …  by neighbouring threads │ … of other blocks …

What is no whole vector at the end is block 0's, whose lanes that keep something ask for places together. The
set is the same in each run, the order is not: by who asks first. A stable order takes a scan over the blocks
in place of the addition (inclusive_scan).

Units: elements. Traffic: count · bytes of an element, and of each kept its bytes and 4.
Source of the technique: CUB's DeviceSelect, with an atomic addition in place of its scan over tiles;
warp-aggregated atomics for what is left.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int16, Int32, Int64, Numeric, Uint32
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
# -- block active_lanes 15157a57f70e
def active_lanes():
    """The mask (Uint32) of the lanes that run this together, the own one among them."""
    return cute.arch.inline_ptx("activemask.b32 {$w0};", write_only_types=[Uint32])


@cute.jit
def claim_place(counter: cute.Pointer, mask, scope: cutlass.Constexpr):
    """A place (Int32) for each lane of `mask`, by one addition to `counter`, 32 bits of global or shared
    memory. All lanes of the mask must come with the same mask, and no others; `scope` is cta or gpu."""
    before = Int32(cute.arch.popc(mask & Uint32(cute.arch.lanemask_lt())))
    first = Int32(0)
    if before == 0:
        many = Int32(cute.arch.popc(mask))
        first = Int32(cute.arch.atomic_add(counter, many, sem="relaxed", scope=scope))
    lowest = Int32(cute.arch.popc((mask & (~mask + 1)) - 1))
    return before + Int32(cute.arch.shuffle_sync(first, lowest, mask=mask))


# -- end of active_lanes
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
THREADS, MOST = 256, 16  # of a block; elements of a thread
# (vectors for each thread of one block a multiprocessor up to which it holds, elements of a thread at least)
SHARES = ((1, 1), (1 << 62, MOST))


@cute.kernel
def compact_kernel(
    mX: cute.Tensor,
    mTail: cute.Tensor,
    mO: cute.Tensor,
    mAt: cute.Tensor,
    mFound: cute.Tensor,
    limit: Float32,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (vectors, width), kind = mX.shape, mX.element_type
    tile = threads * each * width
    sO = cute.make_tensor(cute.arch.alloc_smem(kind, tile, 16), cute.make_layout(tile))
    sAt = cute.make_tensor(cute.arch.alloc_smem(Int16, tile, 16), cute.make_layout(tile))
    sPart = cute.make_tensor(cute.arch.alloc_smem(Int32, threads // 32, 16), cute.make_layout(threads // 32))
    sClaim = cute.make_tensor(
        cute.arch.alloc_smem(Int32, 2, 16), cute.make_layout(2)
    )  # first place, how many

    v = Int64(block) * (threads * each) + thread
    rX = [load_if(mX[v + j * threads, None], v + j * threads < vectors) for j in range(each)]
    rKeep = cute.make_rmem_tensor(cute.make_layout((width, each)), Int32)
    kept = Int32(0)
    for j in cutlass.range_constexpr(each):
        for k in cutlass.range_constexpr(width):
            rKeep[k, j] = Int32((v + j * threads < vectors) & (Float32(rX[j][k]) > limit))
            kept += rKeep[k, j]
    place = block_scan(kept, sPart, threads // 32)
    if thread == threads - 1:
        sClaim[1] = place + kept
        sClaim[0] = cute.arch.atomic_add(mFound.iterator, place + kept, sem="relaxed", scope="gpu")
    for j in cutlass.range_constexpr(each):
        for k in cutlass.range_constexpr(width):
            if rKeep[k, j] != 0:
                sO[place] = rX[j][k]
                sAt[place] = Int16((j * threads + thread) * width + k)
            place += rKeep[k, j]
    cute.arch.sync_threads()
    first, total = sClaim[0], sClaim[1]
    for k in cutlass.range(thread, total, threads):
        mO[first + k] = sO[k]
        mAt[first + k] = block * tile + Int32(sAt[k])

    if block == 0 and thread < cute.size(mTail):
        value = mTail[thread]
        if Float32(value) > limit:
            place = claim_place(mFound.iterator, active_lanes(), "gpu")
            mO[place] = value
            mAt[place] = Int32(vectors) * width + thread


@cute.jit
def compact_launch(
    pO: cute.Pointer,
    pAt: cute.Pointer,
    pFound: cute.Pointer,
    pX: cute.Pointer,
    count: Int64,
    limit: Float32,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    vectors, span = count // width, threads * each
    mX = cute.make_tensor(pX, cute.make_layout((vectors, width), stride=(width, 1)))
    mTail = cute.make_tensor(pX + vectors * width, cute.make_layout(Int32(count % width)))
    mO, mAt = (cute.make_tensor(p, cute.make_layout(count)) for p in (pO, pAt))
    mFound = cute.make_tensor(pFound, cute.make_layout(1))
    compact_kernel(mX, mTail, mO, mAt, mFound, limit, threads, each).launch(
        grid=(Int32(cutlass.max((vectors + span - 1) // span, 1)), 1, 1),
        block=(threads, 1, 1),
        stream=stream,
    )


@functools.cache
def _compiled(dtype, width, threads, each, capability):
    pO, pX = device_pointer(0, ELEMENTS[dtype], 1), device_pointer(0, ELEMENTS[dtype], width)
    pAt = device_pointer(0, Int32, 1)
    return cute.compile(
        compact_launch, pO, pAt, pAt, pX, Int64(0), Float32(0.0), width, threads, each, make_fake_stream()
    )


def compile_compact(dtype, count, width=0, device=NO_DEVICE):
    """The compiled launcher for these facts; width 0 is the widest of the type. ValueError for more elements
    than an int32 counts."""
    if count >= 1 << 31:
        raise ValueError(f"{count} elements: places are int32")
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width)
    vectors = count // width
    share = min(row for row in SHARES if vectors <= row[0] * multiprocessors * THREADS)[1]
    return _compiled(dtype, width, THREADS, max(1, share // width), capability)


def compact(
    out: torch.Tensor | int,
    at: torch.Tensor | int,
    found: torch.Tensor | int,
    x: torch.Tensor | int,
    count: int,
    limit: float,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """The elements of x above `limit` to out, their indices to at, how many to found, which is zero before.
    Tensors or device addresses; `stream` defaults to torch's current one."""
    if count == 0:
        return
    kind = ELEMENTS[dtype]
    width = vector_width(kind.width, address_of(x) * 8 // kind.width)
    compile_compact(dtype, count, width, device_facts())(
        device_pointer(out, kind, 1), device_pointer(at, Int32, 1), device_pointer(found, Int32, 1),
        device_pointer(x, kind, width), Int64(count), Float32(limit),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
