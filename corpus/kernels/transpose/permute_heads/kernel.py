"""Heads and tokens change places: [batch, seq, heads, dim] → [batch, heads, seq, dim], or back (`inverse`).

Shapes: the side by tokens is batch · seq rows of heads · dim elements, `stride` apart (more than heads · dim
where the rows are a part of query, key and value together); the side by heads is contiguous. Elements are
bf16, fp16 or fp32, dim 64 … 256 is what it is tuned for; any sizes are right. The sides may not overlap.

Algorithm: a copy of vectors between two layouts. A warp's accesses are contiguous along the row of a token;
on the other side they are so along each head, which are whole lines from 128 bytes a head on:

    mT (batch · seq, heads · dim) : (stride, 1)      row b · seq + s,  vector h · (dim / width) + d
    mH (batch · heads · seq, dim) : (dim, 1)         row (b · heads + h) · seq + s,  vector d

A thread has the same vector of `each` tokens, all under way at once; chunks of rows as in `row_chunks`. heads
and dim are compile-time constants: of the divisions only the one by seq is left.

Units: strides in elements. Traffic: 2 · batch · seq · heads · dim · bytes of an element.
Source of the technique: the permutes around attention of inference engines, with vectors for scalars.
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


@cute.kernel
def permute_heads_kernel(
    mT: cute.Tensor,
    mH: cute.Tensor,
    seq: Int32,
    heads: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    each: cutlass.Constexpr,
    groups: cutlass.Constexpr,
    inverse: cutlass.Constexpr,
):
    tokens, share, tile = mT.shape[0], mH.shape[1] // width, (1, width)
    vector, first = chunk_place(heads * share, lanes, each, groups)
    if vector < heads * share:
        rX = [cute.make_rmem_tensor(tile, mT.element_type) for _ in range(each)]
        gT, gH = [], []
        for k in cutlass.range_constexpr(each):
            token = cutlass.min(first + k, tokens - 1)
            row = (token // seq * heads + vector // share) * seq + token % seq
            gT.append(cute.local_tile(mT, tile, (token, vector)))
            gH.append(cute.local_tile(mH, tile, (row, vector % share)))
        gX, gO = (gH, gT) if cutlass.const_expr(inverse) else (gT, gH)
        for k in cutlass.range_constexpr(each):
            cute.autovec_copy(gX[k], rX[k])
        for k in cutlass.range_constexpr(each):
            if first + k < tokens:
                cute.autovec_copy(rX[k], gO[k])


@cute.jit
def permute_heads_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    batch: Int32,
    seq: Int32,
    stride: Int64,
    heads: cutlass.Constexpr,
    dim: cutlass.Constexpr,
    width: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    inverse: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    pT, pH = (pO, pX) if cutlass.const_expr(inverse) else (pX, pO)
    mT = row_view(pT, batch * seq, heads * dim, stride, width)
    mH = row_view(pH, batch * heads * seq, dim, Int64(dim), width)
    permute_heads_kernel(mT, mH, seq, heads, width, *plan, inverse).launch(
        grid=(chunk_blocks(heads * dim // width, batch * seq, *plan), 1, 1),
        block=(plan[0] * plan[2], 1, 1),
        stream=stream,
    )


@functools.cache
def _compiled(dtype, heads, dim, width, plan, inverse, capability):
    pX = device_pointer(0, ELEMENTS[dtype], width)
    return cute.compile(
        permute_heads_launch, pX, pX, Int32(0), Int32(0), Int64(0),
        heads, dim, width, plan, inverse, make_fake_stream(),
    )  # fmt: skip


def compile_permute_heads(dtype, batch, seq, heads, dim, inverse=False, width=0, plan=None, device=NO_DEVICE):
    """The compiled launcher for these facts. `width` is the widest that `dim` allows and `plan` what
    `row_chunks` says, where they are not given."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, dim)
    plan = plan or row_chunks(heads * dim // width, batch * seq, 1, multiprocessors)
    return _compiled(dtype, heads, dim, width, plan, bool(inverse), capability)


def permute_heads(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    batch: int,
    seq: int,
    heads: int,
    dim: int,
    stride: int,
    *,
    dtype: str,
    inverse: bool = False,
    stream: int | None = None,
) -> None:
    """Bring heads before tokens, or back if `inverse`; `stride` is that of the side by tokens. Tensors or
    device addresses; `stream` defaults to torch's current one."""
    if batch == 0 or seq == 0:
        return
    kind = ELEMENTS[dtype]
    starts = [address_of(t) * 8 // kind.width for t in (out, x)]
    width = vector_width(kind.width, dim, stride, *starts)
    compile_permute_heads(dtype, batch, seq, heads, dim, inverse, width, device=device_facts())(
        device_pointer(out, kind, width), device_pointer(x, kind, width),
        Int32(batch), Int32(seq), Int64(stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
