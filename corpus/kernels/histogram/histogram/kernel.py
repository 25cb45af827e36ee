"""How often each key occurs: counts[k] += how many i have keys[i] = k, for 0 ≤ k < bins; others are left out.

Shapes: keys are `count` contiguous int32; counts are `bins` int32, which keep what they have: zero
them for a histogram of one call. bins is a compile-time constant, 8192 at most. Tuned for 2^16 keys and more.

Algorithm: a block counts in shared memory, in as many copies as fit, so that its warps rarely meet at one
counter; then it adds its counts to those of all:

    mX (vectors, width) ─ block 0: tiles 0, B, 2B, …; block 1: 1, B + 1, … ─→ keys in registers
    sCount (copies, bins)    warp w → copy w % copies, by atomics of shared memory ─ sum over copies ─→ counts

A block has `bins` keys at least, or emptying its counters would cost more than filling them. What is no whole
vector at the end is block 0's. Additions of integers: the same counts in each run.

Units: keys. Traffic: count · bytes of a key, 4 bytes a bin and block.
Source of the technique: privatised histograms of CUDA's samples, copies for warps as in CUB.
"""

import functools
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
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
KEYS = {"i32": Int32}
THREADS, BLOCKS = 256, 4  # of a block, of a multiprocessor
COUNTERS = 8192  # of a block: 32 KB
# (vectors for each thread of one block a multiprocessor up to which it holds, accesses of a thread at a time)
VECTORS = ((1, 1), (1 << 62, 4))


@cute.jit
def count_key(sMine: cute.Tensor, key, live, bins: cutlass.Constexpr):
    """One more of `key`, if it is one of the bins and `live`."""
    if live and key >= 0 and key < bins:
        cute.arch.atomic_add(sMine.iterator + Int32(key), Int32(1), sem="relaxed", scope="cta")


@cute.kernel
def histogram_kernel(
    mX: cute.Tensor,
    mTail: cute.Tensor,
    mCounts: cute.Tensor,
    blocks: Int32,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
    copies: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (vectors, width), bins = mX.shape, cute.size(mCounts)
    counters = cute.make_layout((copies, bins), stride=(bins, 1))
    sCount = cute.make_tensor(cute.arch.alloc_smem(Int32, copies * bins, 16), counters)
    sMine = sCount[thread // 32 % copies, None]
    for k in cutlass.range(thread, bins, threads):
        for c in cutlass.range_constexpr(copies):
            sCount[c, k] = 0
    cute.arch.sync_threads()

    v = Int64(block) * (threads * each) + thread
    while v < vectors:
        rX = [load_if(mX[v + j * threads, None], v + j * threads < vectors) for j in range(each)]
        for j in cutlass.range_constexpr(each):
            for k in cutlass.range_constexpr(width):
                count_key(sMine, rX[j][k], v + j * threads < vectors, bins)
        v += Int64(blocks) * (threads * each)
    if block == 0 and thread < cute.size(mTail):
        count_key(sMine, mTail[thread], True, bins)
    cute.arch.sync_threads()

    for k in cutlass.range(thread, bins, threads):
        total = Int32(0)
        for c in cutlass.range_constexpr(copies):
            total += sCount[c, k]
        if total != 0:
            cute.arch.atomic_add(mCounts.iterator + k, total, sem="relaxed", scope="gpu")


@cute.jit
def histogram_launch(
    pCounts: cute.Pointer,
    pX: cute.Pointer,
    count: Int64,
    blocks: Int32,
    bins: cutlass.Constexpr,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
    copies: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    vectors = count // width
    mX = cute.make_tensor(pX, cute.make_layout((vectors, width), stride=(width, 1)))
    mTail = cute.make_tensor(pX + vectors * width, cute.make_layout(Int32(count % width)))
    mCounts = cute.make_tensor(pCounts, cute.make_layout(bins))
    histogram_kernel(mX, mTail, mCounts, blocks, threads, each, copies).launch(
        grid=(blocks, 1, 1), block=(threads, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, bins, width, threads, each, copies, capability):
    pCounts, pX = device_pointer(0, Int32, 1), device_pointer(0, KEYS[dtype], width)
    return cute.compile(
        histogram_launch, pCounts, pX, Int64(0), Int32(0),
        bins, width, threads, each, copies, make_fake_stream(),
    )  # fmt: skip


def plan_of(count, bins, width, multiprocessors):
    """(accesses of a thread at a time, copies of the counters, blocks). ValueError for too many bins."""
    if not 0 < bins <= COUNTERS:
        raise ValueError(f"{bins} bins: from 1 to {COUNTERS} have room in shared memory")
    vectors, copies = -(-count // width), 1
    each = min(n for most, n in VECTORS if vectors <= most * multiprocessors * THREADS)
    while copies < THREADS // 32 and 2 * copies * bins <= COUNTERS:
        copies *= 2
    return each, copies, min(-(-vectors // (THREADS * each)), multiprocessors * BLOCKS, -(-count // bins))


def compile_histogram(dtype, count, bins, width=0, device=NO_DEVICE):
    """The compiled launcher for these facts; width 0 is the widest of the type."""
    multiprocessors, capability = device
    width = width or vector_width(KEYS[dtype].width)
    each, copies, _ = plan_of(count, bins, width, multiprocessors)
    return _compiled(dtype, bins, width, THREADS, each, copies, capability)


def histogram(
    counts: torch.Tensor | int,
    keys: torch.Tensor | int,
    count: int,
    bins: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Add the occurrences of `count` keys to `counts`. Tensors or device addresses; `stream` defaults to
    torch's current one. ValueError for more bins than a block has room for."""
    if count == 0:
        return
    kind, device = KEYS[dtype], device_facts()
    width = vector_width(kind.width, address_of(keys) * 8 // kind.width)
    _, _, blocks = plan_of(count, bins, width, device[0])
    compile_histogram(dtype, count, bins, width, device)(
        device_pointer(counts, Int32, 1), device_pointer(keys, kind, width), Int64(count), Int32(blocks),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
