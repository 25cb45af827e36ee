"""Rotary embedding of Q in place and of K into a paged cache, and V into the cache, in one launch.

    q[t, h] ← turned(q[t, h])                              turned: pairs and angles as in rope
    key_cache[slot / block_size, slot % block_size, h] ← turned(key[t, h])    slot = slots[t]
    value_cache[…] ← value[t, h]        nothing is kept of a token whose slot is below 0
    e4m3, as in kv_cache_append: round(… · (1 / scale)), at most ±448

Shapes: q is (tokens, q_heads, head), key and value (tokens, kv_heads, head), a token every so many elements,
so that all may be views of one fused qkv tensor; bf16, fp16 or fp32. Caches are (blocks, block_size,
kv_heads, head), or (blocks, kv_heads, block_size, head) with `heads_first`, of that type or e4m3. Table as in
rope, positions and slots i32 or i64. head and rotary are even; 128 is what it is tuned for.

Algorithm: a thread has one vector of pairs of `each` heads of a token, of Q, K or V:

    groups of a token    Q's | K's | V's          of `each` heads: (pair, x | y, vector, head of group)
    Q's  ─→ rX ─ rotated ─→ where it was          K's  ─→ rX ─ rotated ─→ at the slot
    K's vectors beyond rotary, and V's, as if they were pairs ─→ rX ────→ at the slot

All but tokens, strides and scales are compile-time constants. Units: strides in elements. Traffic: what
rotates of Q once in and out, K and V once in and once out; two launches write K, read it and write it again.
Source of the technique: fused rotary and cache kernels of inference engines.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float8E4M3FN, Float16, Float32, Int32, Int64, Numeric
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
INDICES = {"i32": Int32, "i64": Int64}


@cute.jit
def move_heads(
    gX: cute.Tensor, gO: cute.Tensor, gT: cute.Tensor, factor, last, certain: cutlass.Constexpr,
    rotate: cutlass.Constexpr,
):  # fmt: skip
    """A vector of pairs of the heads 0 … `last` of `gX`, (pair, x | y, head), to `gO`, rotated by `gT` or
    not; to e4m3 it is multiplied by `factor` first."""
    each = gX.shape[2]
    rX = [cute.make_fragment_like(gX[None, None, 0]) for _ in range(each)]
    rO = [cute.make_rmem_tensor(rX[0].layout, gO.element_type) for _ in range(each)]
    rT = cute.make_fragment_like(gT)
    for k in cutlass.range_constexpr(each):
        # Beyond the last head: that one again, which is not stored twice.
        cute.autovec_copy(gX[None, None, k if k < certain else cutlass.min(k, last)], rX[k])
    if cutlass.const_expr(rotate):
        cute.autovec_copy(gT, rT)
    for k in cutlass.range_constexpr(each):
        x, y = (rX[k][None, i].load().to(Float32) for i in range(2))
        if cutlass.const_expr(rotate):
            x, y = rotated(x, y, rT)
        if cutlass.const_expr(gO.element_type is Float8E4M3FN):
            x, y = x * factor, y * factor
        rO[k][None, 0].store(x.to(gO.element_type))
        rO[k][None, 1].store(y.to(gO.element_type))
        if k < certain or k <= last:
            cute.autovec_copy(rO[k], gO[None, None, k])


@cute.kernel
def rope_kv_append_kernel(
    mQ: cute.Tensor, mK: cute.Tensor, mKR: cute.Tensor, mV: cute.Tensor, mKC: cute.Tensor,
    mKRC: cute.Tensor, mVC: cute.Tensor, mP: cute.Tensor, mT: cute.Tensor, mSlots: cute.Tensor,
    mKScale: cute.Tensor, mVScale: cute.Tensor, heads: cutlass.Constexpr, warps: cutlass.Constexpr,
):  # fmt: skip
    (_, _, turning, each, q_groups, tokens), kv_groups, size = mQ.shape, mV.shape[4], mVC.shape[5]
    q_heads, kv_heads = heads
    token, group, vector = group_place(mV.shape[2], q_groups + 2 * kv_groups, warps * 32)
    if token < tokens:
        slot, gT = Int64(mSlots[token]), mT[None, None, cutlass.min(vector, turning - 1), Int64(mP[token])]
        if group < q_groups:
            if vector < turning:
                gQ, last = mQ[None, None, vector, None, group, token], q_heads - 1 - group * each
                move_heads(gQ, gQ, gT, Float32(1.0), last, certain_heads(each, q_heads), True)
        elif slot >= 0:
            offset, block, certain = slot % size, slot // size, certain_heads(each, kv_heads)
            g = (group - q_groups) % kv_groups
            last = kv_heads - 1 - g * each
            factor = 1.0 / (mKScale[0] if group < q_groups + kv_groups else mVScale[0])
            if group < q_groups + kv_groups:
                if vector < turning:
                    gK = mK[None, None, vector, None, g, token]
                    gKC = mKC[None, None, vector, None, g, offset, block]
                    move_heads(gK, gKC, gT, factor, last, certain, True)
                else:
                    gK = mKR[None, None, vector - turning, None, g, token]
                    gKC = mKRC[None, None, vector - turning, None, g, offset, block]
                    move_heads(gK, gKC, gT, factor, last, certain, False)
            else:
                gV = mV[None, None, vector, None, g, token]
                gVC = mVC[None, None, vector, None, g, offset, block]
                move_heads(gV, gVC, gT, factor, last, certain, False)


@cute.jit
def rope_kv_append_launch(
    pQ: cute.Pointer, pK: cute.Pointer, pV: cute.Pointer, pKC: cute.Pointer, pVC: cute.Pointer,
    pP: cute.Pointer, pT: cute.Pointer, pSlots: cute.Pointer, pKScale: cute.Pointer, pVScale: cute.Pointer,
    tokens: Int32, q_stride: Int64, key_stride: Int64, value_stride: Int64, block_stride: Int64,
    model: cutlass.Constexpr, ways: cutlass.Constexpr, widths: cutlass.Constexpr, plan: cutlass.Constexpr,
    stream: cuda.CUstream,
):  # fmt: skip
    (q_heads, kv_heads, head, rotary, size), (interleaved, heads_first) = model, ways
    (width, aligned, _), (each, warps), rest = widths, plan, head - rotary
    strides = [cute.assume(s, divby=aligned) for s in (q_stride, key_stride, value_stride, block_stride)]
    apart, row = (size * head, head) if heads_first else (head, kv_heads * head)

    def tokens_of(p, n, heads, stride):
        more = (each, group_count(each, heads), tokens)
        return pair_view(p, n, width, interleaved, more, (head, each * head, stride))

    def slots_of(p, n):
        more = (each, group_count(each, kv_heads), size, tokens)  # as many blocks as slots ask for
        return pair_view(p, n, width, interleaved, more, (apart, each * apart, row, strides[3]))

    mQ, mK = tokens_of(pQ, rotary, q_heads, strides[0]), tokens_of(pK, rotary, kv_heads, strides[1])
    mV, mKC, mVC = tokens_of(pV, head, kv_heads, strides[2]), slots_of(pKC, rotary), slots_of(pVC, head)
    mKR, mKRC = mK, mKC  # not to be touched, where all of a head rotates
    if cutlass.const_expr(rest > 0):
        mKR, mKRC = tokens_of(pK + rotary, rest, kv_heads, strides[1]), slots_of(pKC + rotary, rest)
    lists = ((pP, tokens), (pSlots, tokens), (pKScale, 1), (pVScale, 1))
    mP, mSlots, mKScale, mVScale = [cute.make_tensor(p, cute.make_layout(n)) for p, n in lists]
    mT = pair_view(pT, rotary, width, False, (tokens,), (rotary,))
    threads = tokens * (group_count(each, q_heads, kv_heads, kv_heads) * head // (2 * width))
    rope_kv_append_kernel(
        mQ, mK, mKR, mV, mKC, mKRC, mVC, mP, mT, mSlots, mKScale, mVScale, (q_heads, kv_heads), warps
    ).launch(grid=((threads - 1) // (warps * 32) + 1, 1, 1), block=(warps * 32, 1, 1), stream=stream)


@functools.cache
def _compiled(dtype, cache, table_dtype, positions_dtype, slots_dtype, model, ways, widths, plan, capability):
    code = Float8E4M3FN if cache == "e4m3" else ELEMENTS[dtype]
    others = ((INDICES[positions_dtype], 1), (ELEMENTS[table_dtype], widths[2]), (INDICES[slots_dtype], 1))
    rows = [(kind, widths[1]) for kind in (*[ELEMENTS[dtype]] * 3, code, code)]
    pointers = [device_pointer(0, *kind) for kind in (*rows, *others, (Float32, 1), (Float32, 1))]
    numbers, given = (Int32(0), *[Int64(0)] * 4), (model, ways, widths, plan, make_fake_stream())
    return cute.compile(rope_kv_append_launch, *pointers, *numbers, *given)


def access_widths(dtype, table_dtype, interleaved, head, rotary, facts, of_table) -> tuple[int, int, int]:
    """(pairs of a vector, elements of heads, of the table aligned together). ValueError for no pairs."""
    if head % 2 or rotary % 2:
        raise ValueError(f"a head of {head} elements, {rotary} of which rotate, is not pairs")
    facts = (*facts, *((head,) if interleaved else (head // 2, (head - rotary) // 2)))
    width, aligned = pair_width(ELEMENTS[dtype].width, rotary, interleaved, *facts, most=MOST_PAIRS)
    return width, aligned, vector_width(ELEMENTS[table_dtype].width, width, *of_table)


def compile_rope_kv_append(
    dtype, cache, table_dtype, positions_dtype, slots_dtype, interleaved, heads_first, tokens, q_heads,
    kv_heads, head, rotary, block_size, widths=None, each=0, device=NO_DEVICE,
):  # fmt: skip
    """The compiled launcher; if not given, `widths` are the widest and `each` is `heads_of_thread`'s."""
    widths = widths or access_widths(dtype, table_dtype, interleaved, head, rotary, (), ())
    counts, vectors = (q_heads, kv_heads, kv_heads), head // (2 * widths[0])
    each = each or heads_of_thread(tokens, vectors, 2 * widths[0], device[0], *counts)
    threads = tokens * group_count(each, *counts) * vectors
    plan, types = (each, warps_of_block(-(-threads // 32), device[0])), (dtype, cache, table_dtype)
    model, ways = (q_heads, kv_heads, head, rotary, block_size), (bool(interleaved), bool(heads_first))
    return _compiled(*types, positions_dtype, slots_dtype, model, ways, widths, plan, device[1])


def rope_kv_append(
    q: torch.Tensor | int, key: torch.Tensor | int, value: torch.Tensor | int,
    key_cache: torch.Tensor | int, value_cache: torch.Tensor | int, positions: torch.Tensor | int,
    table: torch.Tensor | int, slots: torch.Tensor | int, k_scale: torch.Tensor | int,
    v_scale: torch.Tensor | int, interleaved: bool, heads_first: bool, tokens: int, q_heads: int,
    kv_heads: int, head: int, rotary: int, block_size: int, q_stride: int, key_stride: int,
    value_stride: int, block_stride: int, *, dtype: str, cache: str = "same", table_dtype: str = "f32",
    positions_dtype: str = "i64", slots_dtype: str = "i64", each: int = 0, stream: int | None = None,
) -> None:  # fmt: skip
    """Rotate and append; `cache` is its element type: "same", or "e4m3", for which alone there are scales.
    Tensors or device addresses; `each` replaces the plan's own; `stream` defaults to torch's current one."""
    if tokens == 0:
        return
    kind, angle, strides = ELEMENTS[dtype], ELEMENTS[table_dtype], (q_stride, key_stride, value_stride)
    code = Float8E4M3FN if cache == "e4m3" else kind
    held = ((q, kind), (key, kind), (value, kind), (key_cache, code), (value_cache, code))
    facts = (*strides, block_stride, *(address_of(t) * 8 // k.width for t, k in held))
    start = address_of(table) * 8 // angle.width
    widths = access_widths(dtype, table_dtype, interleaved, head, rotary, facts, (start,))
    run = compile_rope_kv_append(
        dtype, cache, table_dtype, positions_dtype, slots_dtype, interleaved, heads_first, tokens, q_heads,
        kv_heads, head, rotary, block_size, widths, each, device_facts(),
    )  # fmt: skip
    others = ((positions, INDICES[positions_dtype], 1), (table, angle, widths[2]),
              (slots, INDICES[slots_dtype], 1), (k_scale, Float32, 1), (v_scale, Float32, 1))  # fmt: skip
    run(
        *(device_pointer(t, k, widths[1]) for t, k in held), *(device_pointer(*o) for o in others),
        Int32(tokens), *(Int64(s) for s in (*strides, block_stride)),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
