"""Rows added to rows by ids: out[ids[t], :] += x[t, :] where 0 ≤ ids[t] < count; other ids are left out.

Shapes: x is `tokens` rows of `hidden` elements, `x_stride` apart; out is `count` rows, `out_stride` apart;
ids has `tokens` int32, in any order, as often as they like. Elements are fp32, bf16 or fp16; hidden from 512
to 16,384 is what it is tuned for. Additions to one element are made in any order: results differ in their
last bits from run to run where an id stands more than once.

Algorithm: a thread has one vector of `each` rows; all ids are asked for first, then all rows, then it adds:

    ids (tokens) ──→ inside[k] = 0 ≤ ids[t + k] < count
    mX (tokens, hidden) ─128-bit load where inside→ rX[k] ─one vector of atomic additions→ mO (count, hidden)

Chunks of rows as in `row_chunks`. One instruction adds 128 bits: four of fp32, eight of 16 bits. hidden is a
compile-time constant.

Units: strides in elements. Traffic: each row of x once, rows of out twice, and the ids.
Source of the technique: index_add and gradients of embeddings, with vectors of additions of sm_90.
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
# -- block row_view 6811058f3db3
def row_view(pointer, rows, columns: int, stride, width: int):
    """Rows of `columns` elements, `stride` elements (Int64) apart."""
    layout = cute.make_layout((rows, columns), stride=(cute.assume(stride, divby=width), 1))
    return cute.make_tensor(pointer, layout)


# -- end of row_view
# -- block row_chunks bd781ccf79e2
LEAST_LANES, MOST_LANES = 64, 256
SPREAD, FULL, LOADS = 2, 4, 4


def row_chunks(vectors: int, rows: int, loads: int, multiprocessors: int) -> tuple[int, int, int]:
    """(lanes of a chunk, rows of a thread, groups of lanes in a block); `loads` is a thread's for one row."""
    threads, each = LEAST_LANES, 1
    while threads < MOST_LANES and rows * -(-vectors // threads) > SPREAD * multiprocessors:
        threads *= 2
    if 2 * vectors <= threads:
        lanes = 1 << (vectors - 1).bit_length()
        groups = threads // lanes
    else:
        chunks = -(-vectors // threads)
        lanes, groups = -(-vectors // (32 * chunks)) * 32, 1  # chunks of even length
    blocks = rows // groups * -(-vectors // lanes)
    while each * loads < LOADS and blocks >= 2 * each * FULL * multiprocessors:
        each *= 2
    return lanes, each, groups


def chunk_blocks(vectors: int, rows, lanes: int, each: int, groups: int):
    """How many blocks there are for `rows` rows (a number at run time)."""
    return (rows + each * groups - 1) // (each * groups) * -(-vectors // lanes)


def chunk_place(vectors: int, lanes: int, each: int, groups: int):
    """(vector of the row, first row) of this thread; either may lie beyond the end."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    chunks = -(-vectors // lanes)
    return block % chunks * lanes + thread % lanes, (block // chunks * groups + thread // lanes) * each


# -- end of row_chunks
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
# -- block add_vector 5ec0f7eb8bab
ADDED = {BFloat16: "bf16", Float16: "f16", Float32: "f32"}


@cute.jit
def add_vector(gO: cute.Tensor, rX: cute.Tensor):
    """Add the elements of `rX` to those of `gO`, which are next to each other in global memory."""
    kind, size = rX.element_type, cute.size(rX)
    bits = size * kind.width
    word = kind if cutlass.const_expr(kind is Float32) else Int32 if cutlass.const_expr(bits >= 32) else Int16
    rW, count = cute.recast_tensor(rX, word), bits // word.width
    name = ADDED[kind] + ("x2" if cutlass.const_expr(word is Int32) else "")
    rounding = "" if cutlass.const_expr(kind is Float32) else ".noftz"
    many = f".v{count}" if cutlass.const_expr(count > 1) else ""
    values = ", ".join("{$r" + str(k + 1) + "}" for k in range(count))
    vector = "{" + values + "}" if cutlass.const_expr(count > 1) else values
    cute.arch.inline_ptx(
        f"red.relaxed.gpu.global.add{rounding}{many}.{name} [{{$r0}}], {vector};",
        read_only_args=[gO.iterator, *(rW[k] for k in range(count))],
    )


# -- end of add_vector
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts


@cute.kernel
def scatter_add_kernel(
    mX: cute.Tensor,
    mI: cute.Tensor,
    mO: cute.Tensor,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    each: cutlass.Constexpr,
    groups: cutlass.Constexpr,
):
    (tokens, hidden), count, tile = mX.shape, mO.shape[0], (1, width)
    vector, first = chunk_place(hidden // width, lanes, each, groups)
    if vector < hidden // width:
        token = [cutlass.min(first + k, tokens - 1) for k in range(each)]
        row = [mI[token[k]] for k in range(each)]
        inside = [(first + k < tokens) & (row[k] >= 0) & (row[k] < count) for k in range(each)]
        rX = [load_if(cute.local_tile(mX, tile, (token[k], vector)), inside[k]) for k in range(each)]
        for k in cutlass.range_constexpr(each):
            if inside[k]:
                add_vector(cute.local_tile(mO, tile, (row[k], vector)), rX[k])


@cute.jit
def scatter_add_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    pI: cute.Pointer,
    tokens: Int32,
    count: Int32,
    x_stride: Int64,
    out_stride: Int64,
    hidden: cutlass.Constexpr,
    width: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mO = row_view(pX, tokens, hidden, x_stride, width), row_view(pO, count, hidden, out_stride, width)
    mI = cute.make_tensor(pI, cute.make_layout(tokens))
    scatter_add_kernel(mX, mI, mO, width, *plan).launch(
        grid=(chunk_blocks(hidden // width, tokens, *plan), 1, 1),
        block=(plan[0] * plan[2], 1, 1),
        stream=stream,
    )


@functools.cache
def _compiled(dtype, hidden, width, plan, capability):
    pO, pI = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, Int32, 1)
    return cute.compile(
        scatter_add_launch, pO, pO, pI, Int32(0), Int32(0), Int64(0), Int64(0),
        hidden, width, plan, make_fake_stream(),
    )  # fmt: skip


def compile_scatter_add(dtype, tokens, hidden, width=0, plan=None, device=NO_DEVICE):
    """The compiled launcher for these facts. `width` is the widest that `hidden` allows and `plan` what
    `row_chunks` says, where they are not given."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, hidden)
    plan = plan or row_chunks(hidden // width, tokens, 1, multiprocessors)
    return _compiled(dtype, hidden, width, plan, capability)


def scatter_add(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    ids: torch.Tensor | int,
    tokens: int,
    hidden: int,
    count: int,
    x_stride: int,
    out_stride: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Add `tokens` rows of x to rows of out. Tensors or device addresses; `stream` defaults to torch's
    current one."""
    if tokens == 0:
        return
    kind = ELEMENTS[dtype]
    starts = [address_of(t) * 8 // kind.width for t in (out, x)]
    width = vector_width(kind.width, hidden, x_stride, out_stride, *starts)
    compile_scatter_add(dtype, tokens, hidden, width, device=device_facts())(
        *(device_pointer(t, kind, width) for t in (out, x)), device_pointer(ids, Int32, 1),
        Int32(tokens), Int32(count), Int64(x_stride), Int64(out_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
