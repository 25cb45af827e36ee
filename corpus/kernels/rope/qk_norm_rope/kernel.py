"""QK norm and rotary embedding of Q and K in place, in one launch: RMS norm of a head, then its rotation.

    u = q[t, h, :] / sqrt(mean(q[t, h, :]²) + eps) · (q_weight + weight_bias);   k with k_weight
    (x, y) ← (x · cos - y · sin, x · sin + y · cos)      cos, sin = row[i], row[rotary / 2 + i]
    halves       x, y = u[i], u[rotary / 2 + i]          row = table[positions[t]]
    interleaved  x, y = u[2i], u[2i + 1]                 u as it is beyond `rotary`

Shapes: q is (tokens, q_heads, head), a token every `q_stride` elements, heads next to each other; k likewise.
So both may be views of one fused qkv tensor. Weights have `head` elements. All of one type, bf16, fp16 or
fp32; the table has rows of `rotary` of that type or fp32, positions are i32 or i64. rotary ≤ head, even.
Heads of 64, 128 and 256 are what it is tuned for.

Algorithm: a group of lanes, several to a warp, owns `each` heads of one token and keeps them in registers:

    warp (bf16, head 128)   lanes 0 … 7 heads h …, lanes 8 … 15 heads h + each …   two 128-bit accesses a head
    gX (width, 2, vectors, each) ─→ rX ─ Σ x² ─ butterfly in the group ─ · scale · weight ─ rotated ─→ gX
    gR (aligned, rest vectors, each), what lies beyond `rotary` ──────── · scale · weight ───────────→ gR

Both numbers of a pair are one lane's: only the sum is exchanged. Weights and angles are loaded once for all
heads of a group. One rounding, at the end. All but tokens and strides are compile-time constants.

Units: strides in elements. Traffic: q and k once in and once out, angles and position of each token once.
Source of the technique: fused QK norm and rotary kernels of inference engines (one warp a head), with
narrower groups of lanes and pairs that stay in a lane.
"""

import functools
import operator
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
# -- block lane_reduce 2f92a86e78c1
@cute.jit
def lane_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result over each group of `lanes` (a power of two up to 32) lanes, in all of them."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        value = operation(value, cute.arch.shuffle_sync_bfly(value, lanes >> (step + 1)))
    return value


# -- end of lane_reduce
# -- block warps_of_block 84e96dd2ec74
MOST_WARPS = 4


def warps_of_block(warps: int, multiprocessors: int) -> int:
    """A power of two from 1 to MOST_WARPS; `warps` is how many the whole launch needs."""
    chosen = 1
    while chosen < MOST_WARPS and warps > chosen * multiprocessors:
        chosen *= 2
    return chosen


# -- end of warps_of_block
# -- block lane_chunks 3545874ceafe
def lane_fragment(gV: cute.Tensor, n: int, lanes: int):
    """Registers, zeros, for a lane's chunks of `n` vectors: (element, part, chunk), in memory order."""
    layout = cute.make_layout((*gV.shape[:2], max(1, -(-n // lanes))), stride=gV.stride[:3])
    rV = cute.make_fragment_like(cute.make_tensor(gV.iterator, layout))
    rV.fill(0.0)
    return rV


@cute.jit
def lane_copy(gV, rV, lane, n: cutlass.Constexpr, lanes: cutlass.Constexpr, load: cutlass.Constexpr):
    """Load a lane's chunks of the `n` vectors `gV` into `rV`, or store them."""
    for j in cutlass.range_constexpr(-(-n // lanes)):
        if j * lanes + lanes <= n or j * lanes + lane < n:
            if cutlass.const_expr(load):
                cute.autovec_copy(gV[None, None, j * lanes + lane], rV[None, None, j])
            else:
                cute.autovec_copy(rV[None, None, j], gV[None, None, j * lanes + lane])


# -- end of lane_chunks
# -- end of lane_chunks
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
# (elements that a lane has of a head, up to which it holds; heads of a group of lanes): the fastest of 1, 2
# and 4 on an H200, from 1 to 16,384 tokens, heads of 64, 128 and 256. Few tokens want it for its latency.
HEADS = ((8, 4), (1 << 30, 2))

MOST_PAIRS = 2  # of a vector of halves: with 8, registers leave room for too few warps
POSITIONS = {"i32": Int32, "i64": Int64}


def rest_view(gX: cute.Tensor, rotary: int, rest: int, aligned: int):
    """(element, 1, vector, …): `rest` elements beyond the pairs of `gX`; not to be touched if 0."""
    shape = (aligned, 1, max(1, rest // aligned), *gX.shape[3:])
    layout = cute.make_layout(shape, stride=(1, aligned, aligned, *gX.stride[3:]))
    return cute.make_tensor(gX.iterator + rotary, layout)


@cute.kernel
def qk_norm_rope_kernel(
    mQ: cute.Tensor, mK: cute.Tensor, mQw: cute.Tensor, mKw: cute.Tensor, mP: cute.Tensor, mT: cute.Tensor,
    model: cutlass.Constexpr, aligned: cutlass.Constexpr, lanes: cutlass.Constexpr, warps: cutlass.Constexpr,
    eps: cutlass.Constexpr, weight_bias: cutlass.Constexpr,
):  # fmt: skip
    q_heads, k_heads, head, rotary = model
    element, (_, _, vectors, each, q_groups, tokens) = mQ.element_type, mQ.shape
    rests, certain = (head - rotary) // aligned, certain_heads(each, q_heads, k_heads)
    token, group, lane = group_place(lanes, group_count(each, q_heads, k_heads), warps * 32)

    gX, gW, last = mQ[None, None, None, None, group, token], mQw, q_heads - 1 - group * each
    if group >= q_groups:
        group -= q_groups
        gX, gW, last = mK[None, None, None, None, group, token], mKw, k_heads - 1 - group * each
    gR, gRw = [rest_view(g, rotary, head - rotary, aligned) for g in (gX, gW)]
    rX = [lane_fragment(gX, vectors, lanes) for _ in range(each)]
    rR = [lane_fragment(gR, rests, lanes) for _ in range(each)]
    rW, rRw, rT = [lane_fragment(g, n, lanes) for g, n in ((gW, vectors), (gRw, rests), (mT, vectors))]
    if token < tokens:  # others bring zeros to the sum
        lane_copy(mT[None, None, None, Int64(mP[token])], rT, lane, vectors, lanes, True)
        lane_copy(gW, rW, lane, vectors, lanes, True)
        lane_copy(gRw, rRw, lane, rests, lanes, True)
        for k in cutlass.range_constexpr(each):
            # Beyond the last head: that one again, which is not stored twice.
            at = k if k < certain else cutlass.min(k, last)
            lane_copy(gX[None, None, None, at], rX[k], lane, vectors, lanes, True)
            lane_copy(gR[None, None, None, at], rR[k], lane, rests, lanes, True)

    chunks, turns = cute.size(rT, mode=[2]), []  # weights and angles are one factor for all heads
    for j in cutlass.range_constexpr(chunks):
        u, v = [rW[None, i, j].load().to(Float32) + weight_bias for i in range(2)]
        cosine, sine = [rT[None, i, j].load().to(Float32) for i in range(2)]
        turns.append((u * cosine, v * sine, u * sine, v * cosine))
    rest_weight = rRw.load().to(Float32) + weight_bias
    for k in cutlass.range_constexpr(each):
        rest = rR[k].load().to(Float32)
        squares, more = cute.zeros_like(rX[k][None, 0, 0], Float32), rest * rest
        for j in cutlass.range_constexpr(2 * chunks):
            x = rX[k][None, j % 2, j // 2].load().to(Float32)
            squares = cute.math.fma(x, x, squares)
        total = [s.reduce(cute.ReductionOp.ADD, 0.0, 0) for s in (squares, more)]
        mean = lane_reduce(total[0] + total[1], operator.add, lanes) * (1.0 / head)
        scale = cute.math.rsqrt(mean + eps, fastmath=True)
        for j in cutlass.range_constexpr(chunks):
            x, y = [rX[k][None, i, j].load().to(Float32) * scale for i in range(2)]
            a, b, c, d = turns[j]
            rX[k][None, 0, j].store(cute.math.fma(x, a, -(y * b)).to(element))
            rX[k][None, 1, j].store(cute.math.fma(x, c, y * d).to(element))
        rR[k].store((rest * scale * rest_weight).to(element))
    if token < tokens:
        for k in cutlass.range_constexpr(each):
            if k < certain or k <= last:
                lane_copy(gX[None, None, None, k], rX[k], lane, vectors, lanes, False)
                lane_copy(gR[None, None, None, k], rR[k], lane, rests, lanes, False)


@cute.jit
def qk_norm_rope_launch(
    pQ: cute.Pointer, pK: cute.Pointer, pQw: cute.Pointer, pKw: cute.Pointer, pP: cute.Pointer,
    pT: cute.Pointer, tokens: Int32, q_stride: Int64, k_stride: Int64, model: cutlass.Constexpr,
    interleaved: cutlass.Constexpr, widths: cutlass.Constexpr, plan: cutlass.Constexpr,
    eps: cutlass.Constexpr, weight_bias: cutlass.Constexpr, stream: cuda.CUstream,
):  # fmt: skip
    (q_heads, k_heads, head, rotary), (width, aligned, _), (each, lanes, warps) = model, widths, plan
    shapes = [(each, group_count(each, heads), tokens) for heads in (q_heads, k_heads)]
    strides = [(head, each * head, cute.assume(s, divby=aligned)) for s in (q_stride, k_stride)]
    parts = zip((pQ, pK), shapes, strides, strict=True)
    mQ, mK = [pair_view(p, rotary, width, interleaved, *part) for p, *part in parts]
    mQw, mKw = [pair_view(p, rotary, width, interleaved, (), ()) for p in (pQw, pKw)]
    mP = cute.make_tensor(pP, cute.make_layout(tokens))
    mT = pair_view(pT, rotary, width, False, (tokens,), (rotary,))  # as many rows as positions
    threads = tokens * (group_count(each, q_heads, k_heads) * lanes)
    qk_norm_rope_kernel(mQ, mK, mQw, mKw, mP, mT, model, aligned, lanes, warps, eps, weight_bias).launch(
        grid=((threads + warps * 32 - 1) // (warps * 32), 1, 1), block=(warps * 32, 1, 1), stream=stream
    )


@functools.cache
def _compiled(
    dtype, table_dtype, positions_dtype, model, interleaved, widths, plan, eps, weight_bias, capability
):  # fmt: skip
    pQ = device_pointer(0, ELEMENTS[dtype], widths[1])
    pT = device_pointer(0, ELEMENTS[table_dtype], widths[2])
    return cute.compile(
        qk_norm_rope_launch, pQ, pQ, pQ, pQ, device_pointer(0, POSITIONS[positions_dtype], 1), pT,
        Int32(0), Int64(0), Int64(0), model, interleaved, widths, plan, eps, weight_bias, make_fake_stream(),
    )  # fmt: skip


def compile_qk_norm_rope(
    dtype, table_dtype, positions_dtype, interleaved, eps, weight_bias, tokens, q_heads, k_heads, head,
    rotary, widths=None, each=0, device=NO_DEVICE,
):  # fmt: skip
    """The compiled launcher. Where not given, `widths` (see `access_widths`) are the widest that the extents
    allow, and `each` heads a group of lanes what HEADS says."""
    widths = widths or access_widths(dtype, table_dtype, interleaved, rotary, (head, head - rotary), ())
    lanes, vectors, rests = 1, rotary // (2 * widths[0]), (head - rotary) // widths[1]
    while lanes < 32 and (lanes < vectors or 2 * lanes < rests):
        lanes *= 2
    elements = 2 * widths[0] * -(-vectors // lanes) + widths[1] * -(-rests // lanes)
    each = each or min(row for row in HEADS if elements <= row[0])[1]
    threads = tokens * group_count(each, q_heads, k_heads) * lanes
    plan = each, lanes, min(2, warps_of_block(-(-threads // 32), device[0]))
    return _compiled(
        dtype, table_dtype, positions_dtype, (q_heads, k_heads, head, rotary), bool(interleaved), widths,
        plan, eps, weight_bias, device[1],
    )  # fmt: skip


def access_widths(dtype, table_dtype, interleaved, rotary, of_heads, of_table) -> tuple[int, int, int]:
    """(pairs of a vector, elements of heads and of the table that are aligned together), by what else they
    depend on (strides, addresses)."""
    width, aligned = pair_width(ELEMENTS[dtype].width, rotary, interleaved, *of_heads, most=MOST_PAIRS)
    return width, aligned, vector_width(ELEMENTS[table_dtype].width, width, *of_table)


def qk_norm_rope(
    q: torch.Tensor | int, k: torch.Tensor | int, q_weight: torch.Tensor | int, k_weight: torch.Tensor | int,
    positions: torch.Tensor | int, table: torch.Tensor | int, interleaved: bool, eps: float,
    weight_bias: float, tokens: int, q_heads: int, k_heads: int, head: int, rotary: int, q_stride: int,
    k_stride: int, *, dtype: str, table_dtype: str = "f32", positions_dtype: str = "i64", each: int = 0,
    stream: int | None = None,
) -> None:  # fmt: skip
    """Norm and rotate in place. Tensors or device addresses; `each` heads a group of lanes in place of the
    plan's own number; `stream` defaults to torch's current one."""
    if tokens == 0:
        return
    kind, angle, arguments = ELEMENTS[dtype], ELEMENTS[table_dtype], (q, k, q_weight, k_weight)
    facts = [head, head - rotary, q_stride, k_stride, *(address_of(t) * 8 // kind.width for t in arguments)]
    of_table = (address_of(table) * 8 // angle.width,)
    widths = access_widths(dtype, table_dtype, interleaved, rotary, facts, of_table)
    compile_qk_norm_rope(
        dtype, table_dtype, positions_dtype, interleaved, eps, weight_bias, tokens, q_heads, k_heads, head,
        rotary, widths, each, device_facts(),
    )(
        *(device_pointer(t, kind, widths[1]) for t in arguments),
        device_pointer(positions, POSITIONS[positions_dtype], 1), device_pointer(table, angle, widths[2]),
        Int32(tokens), Int64(q_stride), Int64(k_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
