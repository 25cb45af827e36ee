"""Rotary embedding of Q and K in place, in one launch: halves (NeoX) or interleaved pairs, whole or partial.

    (x, y) ← (x · cos - y · sin, x · sin + y · cos)      cos, sin = row[i], row[rotary / 2 + i]
    halves       x, y = q[t, h, i], q[t, h, rotary / 2 + i]      row = table[positions[t]]
    interleaved  x, y = q[t, h, 2i], q[t, h, 2i + 1]             k likewise

Shapes: q is (tokens, q_heads, head), a token every `q_stride` elements, heads next to each other; k likewise.
So both may be views of one fused qkv tensor. bf16, fp16 or fp32; the table has rows of `rotary` of that type
or fp32, positions are i32 or i64. rotary ≤ head, even: what lies beyond it is not touched. Heads of 64, 128
and 256 are what it is tuned for.

Algorithm: a thread has one vector of pairs of `each` heads of a token, so that it loads its angles once:

    mQ (pair, x | y, vector, head of group, group, token) ─→ gX (width, 2, each) ─→ rX, each head's
    mT (pair, cos | sin, vector, position) ─────────────→ rT (width, 2) ─ rotated(rX, rT) ─→ gX

Halves and interleaved pairs differ in three strides. x and y are one thread's: nothing is exchanged, and in
place is safe. Head counts, head, rotary and the pairs' way are compile-time constants.

Units: strides in elements. Traffic: rotary elements of each head once in and once out, the angles and the
position of each token once.
Source of the technique: rotary kernels of inference engines (a block a token), with vectors, and heads that
share angles in registers.
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
# -- block rotary_pairs 930295fcbf5e
def pair_width(bits: int, rotary: int, interleaved: bool, *facts: int, most: int = 8) -> tuple[int, int]:
    """(pairs of a vector, elements that are aligned together); `facts` are in elements, and `most` pairs a
    vector of halves. Host code."""
    if interleaved:
        aligned = vector_width(bits, rotary, *facts)
        return max(1, aligned // 2), aligned
    aligned = vector_width(bits, rotary // 2, *facts)
    return min(aligned, most), aligned


def pair_view(pointer, rotary: int, width: int, interleaved: bool, shape: tuple, stride: tuple):
    """(pair, x | y, vector, …) of heads whose first `rotary` elements rotate; `shape` and `stride` are those
    of all further modes."""
    pairs = (2, 1, 2 * width) if interleaved else (1, rotary // 2, width)
    layout = cute.make_layout((width, 2, rotary // (2 * width), *shape), stride=(*pairs, *stride))
    return cute.make_tensor(pointer, layout)


@cute.jit
def rotated(x, y, rC: cute.Tensor):
    """The vectors x and y of fp32 rotated by the angles `rC`, (pair, cosine | sine)."""
    cosine, sine = rC[None, 0].load().to(Float32), rC[None, 1].load().to(Float32)
    # Of a sum a compiler makes an fma, whose one product is not rounded: here x · sin, as nvcc has it.
    return x * cosine - y * sine, cute.math.fma(x, sine, y * cosine)


# -- end of rotary_pairs
# -- block head_groups 6ab34e03ef94
MOST_EACH, HELD, FULL = 4, 16, 32


def group_count(each: int, *heads: int) -> int:
    """Groups of `each` heads, for each number of heads its own."""
    return sum(-(-n // each) for n in heads)


def heads_of_thread(tokens: int, vectors: int, elements: int, multiprocessors: int, *heads: int) -> int:
    """How many heads a thread has, `elements` of each: a power of two up to MOST_EACH."""
    each = 1
    while 2 * each <= min(MOST_EACH, max(2, HELD // elements)):
        if tokens * group_count(2 * each, *heads) * vectors < 32 * FULL * multiprocessors:
            break
        each *= 2
    return each


def certain_heads(each: int, *heads: int) -> int:
    """How many heads every group has at least."""
    return min((n - 1) % each + 1 for n in heads)


def group_place(vectors: int, groups: int, threads: int):
    """(token, group, vector) of this thread in blocks of `threads`; the token may lie beyond the end."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    item = block * threads + thread
    return item // (groups * vectors), item // vectors % groups, item % vectors


# -- end of head_groups
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

MOST_PAIRS = 4  # of a vector of halves: with 8, registers leave room for too few warps
POSITIONS = {"i32": Int32, "i64": Int64}


@cute.kernel
def rope_kernel(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mP: cute.Tensor,
    mT: cute.Tensor,
    q_heads: cutlass.Constexpr,
    k_heads: cutlass.Constexpr,
    warps: cutlass.Constexpr,
):
    element, (_, _, vectors, each, q_groups, tokens) = mQ.element_type, mQ.shape
    certain, groups = certain_heads(each, q_heads, k_heads), group_count(each, q_heads, k_heads)
    token, group, vector = group_place(vectors, groups, warps * 32)
    if token < tokens:
        gX, last = mQ[None, None, vector, None, group, token], q_heads - 1 - group * each
        if group >= q_groups:
            group -= q_groups
            gX, last = mK[None, None, vector, None, group, token], k_heads - 1 - group * each
        gT = mT[None, None, vector, Int64(mP[token])]
        rX = [cute.make_fragment_like(gX[None, None, 0]) for _ in range(each)]
        rT = cute.make_fragment_like(gT)
        for k in cutlass.range_constexpr(each):
            # Beyond the last head: that one again, which is not stored twice.
            cute.autovec_copy(gX[None, None, k if k < certain else cutlass.min(k, last)], rX[k])
        cute.autovec_copy(gT, rT)
        for k in cutlass.range_constexpr(each):
            x, y = (rX[k][None, i].load().to(Float32) for i in range(2))
            x, y = rotated(x, y, rT)
            rX[k][None, 0].store(x.to(element))
            rX[k][None, 1].store(y.to(element))
            if k < certain or k <= last:
                cute.autovec_copy(rX[k], gX[None, None, k])


@cute.jit
def rope_launch(
    pQ: cute.Pointer,
    pK: cute.Pointer,
    pP: cute.Pointer,
    pT: cute.Pointer,
    tokens: Int32,
    q_stride: Int64,
    k_stride: Int64,
    q_heads: cutlass.Constexpr,
    k_heads: cutlass.Constexpr,
    head: cutlass.Constexpr,
    rotary: cutlass.Constexpr,
    interleaved: cutlass.Constexpr,
    widths: cutlass.Constexpr,
    each: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    width, aligned, _ = widths
    mQ, mK = [
        pair_view(
            p, rotary, width, interleaved, (each, group_count(each, heads), tokens),
            (head, each * head, cute.assume(stride, divby=aligned)),
        )
        for p, heads, stride in ((pQ, q_heads, q_stride), (pK, k_heads, k_stride))
    ]  # fmt: skip
    mP = cute.make_tensor(pP, cute.make_layout(tokens))
    mT = pair_view(pT, rotary, width, False, (tokens,), (rotary,))  # as many rows as positions
    threads = tokens * (group_count(each, q_heads, k_heads) * rotary // (2 * width))
    rope_kernel(mQ, mK, mP, mT, q_heads, k_heads, warps).launch(
        grid=((threads + warps * 32 - 1) // (warps * 32), 1, 1), block=(warps * 32, 1, 1), stream=stream
    )


@functools.cache
def _compiled(
    dtype, table_dtype, positions_dtype, q_heads, k_heads, head, rotary, interleaved, widths, each, warps,
    capability,
):  # fmt: skip
    pQ = device_pointer(0, ELEMENTS[dtype], widths[1])
    pT = device_pointer(0, ELEMENTS[table_dtype], widths[2])
    return cute.compile(
        rope_launch, pQ, pQ, device_pointer(0, POSITIONS[positions_dtype], 1), pT,
        Int32(0), Int64(0), Int64(0),
        q_heads, k_heads, head, rotary, interleaved, widths, each, warps, make_fake_stream(),
    )  # fmt: skip


def compile_rope(
    dtype, table_dtype, positions_dtype, interleaved, tokens, q_heads, k_heads, head, rotary, widths=None,
    each=0, device=NO_DEVICE,
):  # fmt: skip
    """The compiled launcher for these facts. `widths` (see `access_widths`) are the widest that the extents
    allow, and `each` heads a thread what `heads_of_thread` says, where they are not given."""
    multiprocessors, capability = device
    widths = widths or access_widths(dtype, table_dtype, interleaved, rotary, (head,), ())
    vectors = rotary // (2 * widths[0])
    each = each or heads_of_thread(tokens, vectors, 2 * widths[0], multiprocessors, q_heads, k_heads)
    threads = tokens * group_count(each, q_heads, k_heads) * vectors
    warps = warps_of_block(-(-threads // 32), multiprocessors)
    return _compiled(
        dtype, table_dtype, positions_dtype, q_heads, k_heads, head, rotary, bool(interleaved), widths, each,
        warps, capability,
    )  # fmt: skip


def access_widths(dtype, table_dtype, interleaved, rotary, of_heads, of_table) -> tuple[int, int, int]:
    """(pairs of a vector, elements of heads and of the table that are aligned together), by what else they
    depend on (strides, addresses)."""
    width, aligned = pair_width(ELEMENTS[dtype].width, rotary, interleaved, *of_heads, most=MOST_PAIRS)
    return width, aligned, vector_width(ELEMENTS[table_dtype].width, width, *of_table)


def rope(
    q: torch.Tensor | int,
    k: torch.Tensor | int,
    positions: torch.Tensor | int,
    table: torch.Tensor | int,
    interleaved: bool,
    tokens: int,
    q_heads: int,
    k_heads: int,
    head: int,
    rotary: int,
    q_stride: int,
    k_stride: int,
    *,
    dtype: str,
    table_dtype: str = "f32",
    positions_dtype: str = "i64",
    each: int = 0,
    stream: int | None = None,
) -> None:
    """Rotate in place. Tensors or device addresses; `each` heads a thread in place of the plan's own number;
    `stream` defaults to torch's current one."""
    if tokens == 0:
        return
    kind, angle = ELEMENTS[dtype], ELEMENTS[table_dtype]
    starts = [address_of(t) * 8 // kind.width for t in (q, k)]
    of_table = (address_of(table) * 8 // angle.width,)
    widths = access_widths(
        dtype, table_dtype, interleaved, rotary, (head, q_stride, k_stride, *starts), of_table
    )
    compile_rope(
        dtype, table_dtype, positions_dtype, interleaved, tokens, q_heads, k_heads, head, rotary, widths,
        each, device_facts(),
    )(
        *(device_pointer(t, kind, widths[1]) for t in (q, k)),
        device_pointer(positions, POSITIONS[positions_dtype], 1), device_pointer(table, angle, widths[2]),
        Int32(tokens), Int64(q_stride), Int64(k_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
