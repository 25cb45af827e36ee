"""The sum of a whole array in one launch: out = Σ x[i], the same bits in each run.

Shapes: x is `count` contiguous elements, fp32, bf16 or int32; out is one fp32, for int32 one int32 (which
wraps, as in C). partial has room for `partials` numbers of out's type. ticket is one word of 32 bits: zero
before the first launch, and zero again after each. Any count is right; tuned for 2^16 and more.

Algorithm: a block walks over the array, several 128-bit accesses a thread at a time, each with sums of its
own. The block's sum goes to partial; the block that comes last adds up what is there:

    mX (vectors, width) ─ block 0: tiles 0, B, 2B, …; block 1: 1, B + 1, … → warps → partial[block]
    partial (B,) ─ the last block, threads in the order of blocks ─→ out          mTail (tail,) → block 0

A block that is alone writes out at once. The order of additions depends on count, alignment, partials and
the device alone: floats have no atomics.

Units: elements. Traffic: count · bytes of an element.
Source of the technique: threadFenceReduction of CUDA's samples, with accesses as wide as the address allows.
"""

import functools
import operator
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
# -- block last_block 48f85d4bf1b5
@cute.jit
def last_block(word: cute.Pointer, blocks, sFound: cute.Tensor):
    """Whether this block is the last of `blocks`, in all its threads, who all must arrive. `word`: 32 bits of
    global memory; `sFound` is one Int32, used once."""
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.sync_threads()
    if thread == 0:
        sFound[0] = Int32(
            cute.arch.inline_ptx(
                "atom.acq_rel.gpu.global.inc.u32 {$w0}, [{$r0}], {$r1};",
                write_only_types=[Uint32],
                read_only_args=[word, Uint32(blocks - 1)],
            )
        )
    cute.arch.sync_threads()
    return sFound[0] == blocks - 1


# -- end of last_block
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
THREADS, BLOCKS = 256, 8  # of a block, of a multiprocessor
# (vectors for each thread of one block a multiprocessor up to which it holds, accesses of a thread at a time)
VECTORS = ((1, 1), (1 << 62, 2))


@cute.kernel
def array_sum_kernel(
    mX: cute.Tensor,
    mTail: cute.Tensor,
    mPartial: cute.Tensor,
    mOut: cute.Tensor,
    mTicket: cute.Tensor,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    kind, (vectors, width), blocks = mOut.element_type, mX.shape, cute.size(mPartial)
    sPart = cute.make_tensor(cute.arch.alloc_smem(kind, threads // 32, 16), cute.make_layout(threads // 32))
    sTotal = cute.make_tensor(cute.arch.alloc_smem(kind, threads // 32, 16), cute.make_layout(threads // 32))
    sFound = cute.make_tensor(cute.arch.alloc_smem(Int32, 1, 16), cute.make_layout(1))
    rSum = cute.make_rmem_tensor(cute.make_layout((width, each)), kind)
    rSum.fill(kind(0))

    v = Int64(block) * (threads * each) + thread
    while v < vectors:
        rX = [load_if(mX[v + j * threads, None], v + j * threads < vectors) for j in range(each)]
        for j in cutlass.range_constexpr(each):
            rSum[None, j].store(rSum[None, j].load() + rX[j].load().to(kind))
        v += Int64(blocks) * (threads * each)
    total = rSum.load().reduce(cute.ReductionOp.ADD, kind(0), 0)
    if block == 0 and thread < cute.size(mTail):
        total += kind(mTail[thread])
    total = row_reduce(total, operator.add, threads, sPart)
    if blocks == 1:  # few elements: nobody else to wait for
        if thread == 0:
            mOut[0] = total
    else:
        if thread == 0:
            mPartial[block] = total
        if last_block(mTicket.iterator, blocks, sFound):
            total = kind(0)
            for k in cutlass.range(thread, blocks, threads):
                total += mPartial[k]
            total = row_reduce(total, operator.add, threads, sTotal)
            if thread == 0:
                mOut[0] = total


@cute.jit
def array_sum_launch(
    pOut: cute.Pointer,
    pX: cute.Pointer,
    pPartial: cute.Pointer,
    pTicket: cute.Pointer,
    count: Int64,
    blocks: Int32,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    each: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    vectors = count // width
    mX = cute.make_tensor(pX, cute.make_layout((vectors, width), stride=(width, 1)))
    mTail = cute.make_tensor(pX + vectors * width, cute.make_layout(Int32(count % width)))
    mPartial = cute.make_tensor(pPartial, cute.make_layout(blocks))
    mOut, mTicket = (cute.make_tensor(p, cute.make_layout(1)) for p in (pOut, pTicket))
    array_sum_kernel(mX, mTail, mPartial, mOut, mTicket, threads, each).launch(
        grid=(blocks, 1, 1), block=(threads, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, width, threads, each, capability):
    kind, total = TYPES[dtype]
    pOut, pTicket = device_pointer(0, total, 1), device_pointer(0, Uint32, 1)
    return cute.compile(
        array_sum_launch, pOut, device_pointer(0, kind, width), pOut, pTicket, Int64(0), Int32(0),
        width, threads, each, make_fake_stream(),
    )  # fmt: skip


def plan_of(count, width, partials, multiprocessors):
    """(accesses of a thread at a time, blocks)."""
    vectors = count // width
    each = min(n for most, n in VECTORS if vectors <= most * multiprocessors * THREADS)
    return each, min(max(1, -(-vectors // (THREADS * each))), multiprocessors * BLOCKS, partials)


def compile_array_sum(dtype, count, partials, width=0, device=NO_DEVICE):
    """The compiled launcher for these facts; width 0 is the widest of the type."""
    multiprocessors, capability = device
    width = width or vector_width(TYPES[dtype][0].width)
    each, _ = plan_of(count, width, partials, multiprocessors)
    return _compiled(dtype, width, THREADS, each, capability)


def array_sum(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    partial: torch.Tensor | int,
    ticket: torch.Tensor | int,
    count: int,
    partials: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Sum `count` elements, of none 0. Tensors or device addresses; `stream` defaults to torch's current one.
    Launches that may run at the same time need a partial and a ticket each."""
    (kind, total), device = TYPES[dtype], device_facts()
    width = vector_width(kind.width, address_of(x) * 8 // kind.width)
    _, blocks = plan_of(count, width, partials, device[0])
    compile_array_sum(dtype, count, partials, width, device)(
        device_pointer(out, total, 1), device_pointer(x, kind, width),
        device_pointer(partial, total, 1), device_pointer(ticket, Uint32, 1),
        Int64(count), Int32(blocks),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
