"""Rows of a table by ids: out[t, :] = table[ids[t] - first, :] where first ≤ ids[t] < first + count, else 0.

Shapes: table is `count` rows of `hidden` elements, `table_stride` apart: all ids, or a shard's, from
`first` on; ids has `tokens` of i32 or i64; out is `tokens` rows of `hidden`, `out_stride` apart. Elements
are bf16, fp16 or fp32. hidden from 512 to 16,384 is what it is tuned for.

Algorithm: a thread copies one vector of `each` rows; all ids are asked for first, then all rows:

    ids (tokens) ──→ row[k] = ids[t + k] - first ──→ inside[k] = 0 ≤ row[k] < count
    mT (count, hidden) : (table_stride, 1) ─128-bit load where inside→ rT[k], else 0 ─→ mO[t + k]

Chunks of rows as in `row_chunks`. Rows outside are not read. hidden and `checked` are compile-time
constants; without `checked` every id must be inside, and the comparisons vanish.

Units: strides in elements; `first` and `count` in rows of the whole vocabulary. Traffic: each row once out,
those inside once in, and the ids.
Source of the technique: vocabulary-parallel embeddings of tensor-parallel inference, with zeros to be summed.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int32, Int64, Numeric
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
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
IDS = {"i32": Int32, "i64": Int64}


@cute.kernel
def embedding_gather_kernel(
    mT: cute.Tensor,
    mI: cute.Tensor,
    mO: cute.Tensor,
    first_id: Int64,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    each: cutlass.Constexpr,
    groups: cutlass.Constexpr,
    checked: cutlass.Constexpr,
):
    (count, hidden), tokens, tile = mT.shape, mO.shape[0], (1, width)
    vector, first = chunk_place(hidden // width, lanes, each, groups)
    if vector < hidden // width:
        row = [Int64(mI[cutlass.min(first + k, tokens - 1)]) - first_id for k in range(each)]
        rT = [cute.make_rmem_tensor(tile, mT.element_type) for _ in range(each)]
        for k in cutlass.range_constexpr(each):
            rT[k].fill(0.0)
            if not checked or (row[k] >= 0 and row[k] < count):
                cute.autovec_copy(cute.local_tile(mT, tile, (row[k], vector)), rT[k])
        for k in cutlass.range_constexpr(each):
            if first + k < tokens:
                cute.autovec_copy(rT[k], cute.local_tile(mO, tile, (first + k, vector)))


@cute.jit
def embedding_gather_launch(
    pO: cute.Pointer,
    pT: cute.Pointer,
    pI: cute.Pointer,
    tokens: Int32,
    first: Int64,
    count: Int32,
    table_stride: Int64,
    out_stride: Int64,
    hidden: cutlass.Constexpr,
    width: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    checked: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mT, mO = row_view(pT, count, hidden, table_stride, width), row_view(pO, tokens, hidden, out_stride, width)
    mI = cute.make_tensor(pI, cute.make_layout(tokens))
    embedding_gather_kernel(mT, mI, mO, first, width, *plan, checked).launch(
        grid=(chunk_blocks(hidden // width, tokens, *plan), 1, 1),
        block=(plan[0] * plan[2], 1, 1),
        stream=stream,
    )


@functools.cache
def _compiled(dtype, ids_dtype, hidden, width, plan, checked, capability):
    pO, pI = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, IDS[ids_dtype], 1)
    return cute.compile(
        embedding_gather_launch, pO, pO, pI, Int32(0), Int64(0), Int32(0), Int64(0), Int64(0),
        hidden, width, plan, checked, make_fake_stream(),
    )  # fmt: skip


def compile_embedding_gather(dtype, ids_dtype, checked, tokens, hidden, width=0, plan=None, device=NO_DEVICE):
    """The compiled launcher for these facts. `width` is the widest that `hidden` allows and `plan` what
    `row_chunks` says, where they are not given."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, hidden)
    plan = plan or row_chunks(hidden // width, tokens, 1, multiprocessors)
    return _compiled(dtype, ids_dtype, hidden, width, plan, bool(checked), capability)


def embedding_gather(
    out: torch.Tensor | int,
    table: torch.Tensor | int,
    ids: torch.Tensor | int,
    checked: bool,
    tokens: int,
    hidden: int,
    first: int,
    count: int,
    table_stride: int,
    out_stride: int,
    *,
    dtype: str,
    ids_dtype: str,
    stream: int | None = None,
) -> None:
    """Gather `tokens` rows. Tensors or device addresses; `stream` defaults to torch's current one."""
    if tokens == 0:
        return
    kind = ELEMENTS[dtype]
    starts = [address_of(t) * 8 // kind.width for t in (out, table)]
    width = vector_width(kind.width, hidden, table_stride, out_stride, *starts)
    compile_embedding_gather(dtype, ids_dtype, checked, tokens, hidden, width, device=device_facts())(
        *(device_pointer(t, kind, width) for t in (out, table)), device_pointer(ids, IDS[ids_dtype], 1),
        Int32(tokens), Int64(first), Int32(count), Int64(table_stride), Int64(out_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
