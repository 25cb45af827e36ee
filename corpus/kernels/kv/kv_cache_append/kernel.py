"""New rows of K and V into a paged cache, as they are or as fp8 e4m3 with a scale each: one launch for both.

    key_cache[slot / block_size, slot % block_size, h, d] ← key[t, h, d]     slot = slots[t], skipped below 0
    e4m3: round(key[t, h, d] · (1 / k_scale)), saturating at ±448;  value_cache ← value with v_scale

Shapes: key and value are (tokens, heads, dim), bf16, fp16 or fp32, tokens `key_stride` and `value_stride`
apart, so both may be views of one fused qkv tensor. Caches are (blocks, block_size, heads, dim), or (blocks,
heads, block_size, dim) with `heads_first`; blocks are `block_stride` apart, so K and V may lie block by block
in one tensor. slots are `tokens` of i32 or i64, none twice. Scales are one fp32 each in device memory.
heads · dim from 512 to 4,096 is what it is tuned for.

Algorithm: a thread has one vector of K and of V of `each` tokens; it asks for all slots first, then all rows:

    mK (width, (dim / width, heads), tokens) : (1, (width, dim), key_stride)   vector, token
    slots ──→ slot[k] ≥ 0                                                      │ 128-bit loads
    mKC (width, (dim / width, heads), block_size, blocks) : (1, (…), …, …) ←───┘ rounded, where kept

The two ways that caches lie are two strides. Chunks of rows as in `row_chunks`. heads, dim, block_size and
the way of the cache are compile-time constants.

Units: strides in elements; a scale is what a code of 1 stands for. Traffic: each row of K and V once in and
once out, in the cache's type, and the slots.
Source of the technique: paged caches of vLLM; vectors as in CUTLASS's elementwise examples.
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
# -- block fp8_convert ad48d1054ef4
E4M3_MAX = 448.0


def to_e4m3(values):
    """fp32 values as e4m3, saturating."""
    return values.to(Float8E4M3FN)


def from_e4m3(codes):
    """e4m3 codes as fp32."""
    return codes.to(Float32)


# -- end of fp8_convert
# -- block paged_cache 7f709602ac20
def cache_element(cache: str, element: type[Numeric]) -> type[Numeric]:
    """The type of a cache's elements, where rows are of `element`; `cache` is "same" or "e4m3"."""
    return {"same": element, "e4m3": Float8E4M3FN}[cache]


def cache_view(
    pointer, heads: int, dim: int, block_size: int, blocks, block_stride, width: int, heads_first: bool
):
    """(element, (vector of head, head), offset, block). `blocks` bounds nothing."""
    head, offset = (block_size * dim, dim) if heads_first else (dim, heads * dim)
    stride = (1, (width, head), offset, cute.assume(block_stride, divby=width))
    layout = cute.make_layout((width, (dim // width, heads), block_size, blocks), stride=stride)
    return cute.make_tensor(pointer, layout)


@cute.jit
def cache_factor(mC: cute.Tensor, scale):
    """What `store_cached` takes for this `scale`; for e4m3 alone it means something."""
    if cutlass.const_expr(mC.element_type is Float8E4M3FN):
        return 1.0 / scale
    return scale


@cute.jit
def store_cached(rX: cute.Tensor, mC: cute.Tensor, vector, slot, factor):
    """Store the vector `rX` at `slot`, which is not negative."""
    block_size = mC.shape[2]
    rC = cute.make_rmem_tensor(rX.layout, mC.element_type)
    if cutlass.const_expr(mC.element_type is Float8E4M3FN):
        rC.store(to_e4m3(rX.load().to(Float32) * factor))
    else:
        rC.store(rX.load())
    cute.autovec_copy(rC, mC[None, vector, slot % block_size, slot // block_size])


# -- end of paged_cache
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

SLOTS = {"i32": Int32, "i64": Int64}


@cute.kernel
def kv_cache_append_kernel(
    mK: cute.Tensor,
    mV: cute.Tensor,
    mKC: cute.Tensor,
    mVC: cute.Tensor,
    mSlots: cute.Tensor,
    mKScale: cute.Tensor,
    mVScale: cute.Tensor,
    lanes: cutlass.Constexpr,
    each: cutlass.Constexpr,
    groups: cutlass.Constexpr,
):
    vectors, tokens = cute.size(mK, mode=[1]), mK.shape[2]
    vector, first = chunk_place(vectors, lanes, each, groups)
    if vector < vectors:
        # Beyond the end: the last token again, which is not stored twice.
        token = [cutlass.min(first + k, tokens - 1) for k in range(each)]
        slot = [Int64(mSlots[token[k]]) for k in range(each)]
        rK, rV = ([cute.make_fragment_like(m[None, vector, 0]) for _ in range(each)] for m in (mK, mV))
        k_scale, v_scale = mKScale[0], mVScale[0]
        for k in cutlass.range_constexpr(each):
            cute.autovec_copy(mK[None, vector, token[k]], rK[k])
            cute.autovec_copy(mV[None, vector, token[k]], rV[k])
        k_factor, v_factor = cache_factor(mKC, k_scale), cache_factor(mVC, v_scale)
        for k in cutlass.range_constexpr(each):
            if first + k < tokens and slot[k] >= 0:
                store_cached(rK[k], mKC, vector, slot[k], k_factor)
                store_cached(rV[k], mVC, vector, slot[k], v_factor)


@cute.jit
def kv_cache_append_launch(
    pK: cute.Pointer,
    pV: cute.Pointer,
    pKC: cute.Pointer,
    pVC: cute.Pointer,
    pSlots: cute.Pointer,
    pKScale: cute.Pointer,
    pVScale: cute.Pointer,
    tokens: Int32,
    key_stride: Int64,
    value_stride: Int64,
    block_stride: Int64,
    heads: cutlass.Constexpr,
    dim: cutlass.Constexpr,
    block_size: cutlass.Constexpr,
    heads_first: cutlass.Constexpr,
    width: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    shape = (width, (dim // width, heads), tokens)
    mK, mV = [
        cute.make_tensor(p, cute.make_layout(shape, stride=(1, (width, dim), cute.assume(s, divby=width))))
        for p, s in ((pK, key_stride), (pV, value_stride))
    ]
    mKC, mVC = [
        cache_view(p, heads, dim, block_size, tokens, block_stride, width, heads_first) for p in (pKC, pVC)
    ]
    mSlots = cute.make_tensor(pSlots, cute.make_layout(tokens))
    mKScale, mVScale = [cute.make_tensor(p, cute.make_layout(1)) for p in (pKScale, pVScale)]
    kv_cache_append_kernel(mK, mV, mKC, mVC, mSlots, mKScale, mVScale, *plan).launch(
        grid=(chunk_blocks(heads * dim // width, tokens, *plan), 1, 1),
        block=(plan[0] * plan[2], 1, 1),
        stream=stream,
    )


@functools.cache
def _compiled(dtype, cache, slots_dtype, heads, dim, block_size, heads_first, width, plan, capability):
    pK = device_pointer(0, ELEMENTS[dtype], width)
    pC = device_pointer(0, cache_element(cache, ELEMENTS[dtype]), width)
    pSlots, pScale = device_pointer(0, SLOTS[slots_dtype], 1), device_pointer(0, Float32, 1)
    return cute.compile(
        kv_cache_append_launch, pK, pK, pC, pC, pSlots, pScale, pScale,
        Int32(0), Int64(0), Int64(0), Int64(0),
        heads, dim, block_size, heads_first, width, plan, make_fake_stream(),
    )  # fmt: skip


def compile_kv_cache_append(
    dtype, cache, slots_dtype, tokens, heads, dim, block_size, heads_first, width=0, plan=None,
    device=NO_DEVICE,
):  # fmt: skip
    """The compiled launcher for these facts. `width` is the widest that `dim` allows and `plan` what
    `row_chunks` says, where they are not given."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, dim)
    plan = plan or row_chunks(heads * dim // width, tokens, 2, multiprocessors)
    return _compiled(
        dtype, cache, slots_dtype, heads, dim, block_size, bool(heads_first), width, plan, capability
    )


def kv_cache_append(
    key: torch.Tensor | int,
    value: torch.Tensor | int,
    key_cache: torch.Tensor | int,
    value_cache: torch.Tensor | int,
    slots: torch.Tensor | int,
    k_scale: torch.Tensor | int,
    v_scale: torch.Tensor | int,
    heads_first: bool,
    tokens: int,
    heads: int,
    dim: int,
    block_size: int,
    key_stride: int,
    value_stride: int,
    block_stride: int,
    *,
    dtype: str,
    cache: str = "same",
    slots_dtype: str = "i64",
    stream: int | None = None,
) -> None:
    """Append `tokens` rows; `cache` is its element type: "same", or "e4m3", for which alone there are scales.
    Tensors or device addresses; `stream` defaults to torch's current one."""
    if tokens == 0:
        return
    kind, code = ELEMENTS[dtype], cache_element(cache, ELEMENTS[dtype])
    starts = [address_of(t) * 8 // kind.width for t in (key, value)]
    starts += [address_of(t) * 8 // code.width for t in (key_cache, value_cache)]
    width = vector_width(kind.width, dim, key_stride, value_stride, block_stride, *starts)
    compile_kv_cache_append(
        dtype, cache, slots_dtype, tokens, heads, dim, block_size, heads_first, width, device=device_facts()
    )(
        *(device_pointer(t, kind, width) for t in (key, value)),
        *(device_pointer(t, code, width) for t in (key_cache, value_cache)),
        device_pointer(slots, SLOTS[slots_dtype], 1),
        *(device_pointer(t, Float32, 1) for t in (k_scale, v_scale)),
        Int32(tokens), Int64(key_stride), Int64(value_stride), Int64(block_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
